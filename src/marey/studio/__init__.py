"""The studio: one page in the browser to open files of the three scales, work on them and export results.

:class:`marey.studio.app.Studio` serves it on this machine alone. A room for each kind of data is declared as
tools (controls), layers (what is drawn) and a frozen state, see :mod:`marey.studio.room`; the files beside it
are what rooms share: workspace (page, notices, callbacks), timeline, jobs, exports, server.
"""
