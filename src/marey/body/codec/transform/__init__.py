"""The default clip codec: principal directions limb by limb, wavelets in time, context-mixing range coder.

`channels` turns a clip into curves and back and learns what moves together, `segment` writes whole numbers in
as few bytes as it can and reads them, `encoder` searches the smallest encoding.
"""
