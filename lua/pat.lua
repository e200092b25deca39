-- Allgather by parallel trees, as NCCL's PAT: the block of each rank goes down a binomial tree of
-- its own, and all n trees run at once. The far hops come first: in round k every rank sends to the
-- rank at distance d = 2^(rounds-1-k) the blocks it has, which lie 2d apart; nothing is moved about
-- inside a rank, and any n will do. Each rank sends n-1 blocks in log2(n) rounds, rounded up. (NCCL
-- also packs small blocks into one slot and bounds how many wait; here each block goes by itself.)
collective = "allgather"

function plan(p)
  local n, r = p.ranks, p.rank
  local rounds = log2(max(2 * n - 1, 1)) -- log2 rounded up
  p:split(n)
  for k = 0, rounds - 1 do
    local d = 1 << (rounds - 1 - k)
    local blocks = (n - d + 2 * d - 1) // (2 * d) -- those whose tree has a rank d further on
    p:loop(blocks, function(m)
      p:send { to = (r + d) % n, chunk = (r - 2 * d * m) % n }
    end)
  end
end
