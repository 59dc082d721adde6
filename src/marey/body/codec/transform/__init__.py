"""The default clip codec: principal directions limb by limb, wavelets in time, context-mixing range coder.

`channels` turns a clip into curves and back, `basis` learns what moves together, `wavelet` splits curves by
scale, `range_coder` writes whole numbers in as few bits as it can, `encoder` and `decoder` put them in order.
"""
