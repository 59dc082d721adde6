"""What is in a field series over time: Fourier compression, information, denoising, style."""

from marey.crowd.spectrum.edit import denoise, restyle
from marey.crowd.spectrum.fourier import FourierFields, compress, error_curve, field_error, information

__all__ = ["FourierFields", "compress", "denoise", "error_curve", "field_error", "information", "restyle"]
