import json
import re
import threading


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(23))
text = json.dumps({str(i): [i] * 3 for i in range(50000)})
print(len(text), len(re.findall("1[0-9]+2", text)))
sums = []
threads = [threading.Thread(target=lambda: sums.append(fib(18))) for _ in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sums)
