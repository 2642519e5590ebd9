-- Recursion, exceptions through 500 frames, laziness, threads of the run time on threads of the system.
import Control.Concurrent
import Control.Exception
import Control.Monad
import qualified Data.Map as Map
import Data.Time.Clock
import System.Environment

fib :: Int -> Int
fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)

deep :: Int -> IO Int
deep 0 = throwIO (userError "x")
deep n = (+ 1) <$> deep (n - 1)

primes :: [Int]
primes = sieve [2 ..] where sieve (p : xs) = p : sieve [x | x <- xs, x `mod` p /= 0]

oneRound :: Int -> IO Bool
oneRound n = do
  caught <- try (deep 500) :: IO (Either IOException Int)
  let table = Map.fromListWith (+) [(i `mod` 100, i + n) | i <- [1 .. 5000]]
  found <- newEmptyMVar
  _ <- forkIO (putMVar found $! fib 17)
  f <- takeMVar found
  return (either (const True) (const False) caught && f == 1597 && sum (Map.elems table) == 12502500 + 5000 * n
          && primes !! 300 == 1993)

main :: IO ()
main = do
  [seconds] <- getArgs
  begin <- getCurrentTime
  let end = addUTCTime (fromIntegral (read seconds :: Int)) begin
      go n ok = do
        now <- getCurrentTime
        if now > end then return ok else oneRound n >>= \r -> r `seq` go (n + 1) (ok && r)
  results <- replicateM 3 $ do
    done <- newEmptyMVar
    _ <- forkIO (go 0 True >>= putMVar done)
    return done
  fine <- and <$> mapM takeMVar results
  putStrLn (if fine then "fine" else "broken")
