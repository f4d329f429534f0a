def erase_unused(f): pass
def simplify(f): pass
