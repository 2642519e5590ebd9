def run(a, say): pass
