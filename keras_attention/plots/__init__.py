"""Plots of attention, drawn with matplotlib (the extra `plots`)."""

from .attention import plot_attention as plot_attention
from .attention import plot_attention_batch as plot_attention_batch
from .attention import plot_attention_heads as plot_attention_heads
from .curves import draw_curves as draw_curves
from .image import plot_attention_over_image as plot_attention_over_image
