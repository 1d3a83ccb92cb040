__version__ = '2.14.0+cu130'
debug = False
cuda: Optional[str] = '13.0'
hip: Optional[str] = None
