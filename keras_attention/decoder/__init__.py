"""The step of an attentional decoder, and the loops that run it."""

from .bridge import StateBridge as StateBridge
from .cell import AttentionDecoderCell as AttentionDecoderCell
from .free_running import FreeRunningDecoder as FreeRunningDecoder
from .layer_norm_lstm import LayerNormLSTMCell as LayerNormLSTMCell
from .loop import AttentionDecoder as AttentionDecoder
