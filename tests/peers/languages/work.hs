import Control.Concurrent
import Control.Exception
import qualified Data.Map as M

fib :: Int -> Int
fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)

main :: IO ()
main = do
  print (fib 29)
  print (M.foldl (+) 0 (M.fromList [(i, i * i) | i <- [1 .. 200000 :: Int]]))
  boxes <- mapM (\i -> do { b <- newEmptyMVar; _ <- forkIO (putMVar b $! fib (10 + i)); return b }) [1 .. 8]
  mapM takeMVar boxes >>= print
  r <- try (evaluate (1 `div` (0 :: Int))) :: IO (Either ArithException Int)
  print r
