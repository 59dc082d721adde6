"""What is in a field series over time: Fourier compression, information, denoising, style."""

from marey.crowd.spectrum.compression import FourierFields, compress
from marey.crowd.spectrum.denoising import denoise
from marey.crowd.spectrum.information import error_curve, field_error, information
from marey.crowd.spectrum.style import restyle

__all__ = ["FourierFields", "compress", "denoise", "error_curve", "field_error", "information", "restyle"]
