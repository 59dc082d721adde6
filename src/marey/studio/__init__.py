"""The studio: one page in the browser to open files of the three scales, work on them and take results away.

:class:`marey.studio.app.Studio` serves it on this machine alone. A folder a scale holds what its panel can
do; the files beside this one are what panels share: desk (page, notices, guarded callbacks), timeline, jobs,
history, uploads, exports.
"""
