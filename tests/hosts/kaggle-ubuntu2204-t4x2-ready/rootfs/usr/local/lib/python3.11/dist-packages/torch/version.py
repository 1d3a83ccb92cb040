__version__ = '2.7.0+cu126'
debug = False
cuda: Optional[str] = '12.6'
hip: Optional[str] = None
