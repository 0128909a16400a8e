"""What watches and steers training, as callbacks of `fit`."""

from .attention_images import AttentionImages as AttentionImages
from .scheduled_sampling import ScheduledSampling as ScheduledSampling
