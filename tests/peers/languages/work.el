(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(princ (format "%d\n" (fib 22)))
(princ (with-temp-buffer
         (dotimes (i 20000) (insert (format "line %d\n" i)))
         (goto-char 1)
         (how-many "1.*9")))
(princ (condition-case e (error "one") (error (format "\n%s\n" e))))
