-- Allgather by parallel trees, as NCCL's PAT: the block of each rank goes down a binomial tree of
-- its own, and all n trees run at once. The far hops come first: in round k every rank sends to the
-- rank at distance d = 2^(rounds-1-k) the blocks it has, which lie 2d apart; nothing is moved about
-- inside a rank, and any n will do. Each rank sends n-1 blocks in log2(n) rounds, rounded up.
-- Blocks of one round travel together while they fit into one of NCCL's slots: so there are log2(n)
-- messages where S is small, and n-1 where a block fills a slot.
collective = "allgather"

local function pat(p, together)
  local n, r = p.ranks, p.rank
  local rounds = log2_up(n)
  p:split(n)
  for k = 0, rounds - 1 do
    local d = 1 << (rounds - 1 - k)
    local blocks = (n + d - 1) // (2 * d) -- those whose tree has a rank d further on
    p:loop(blocks, function(m)
      p:send { to = (r + d) % n, chunk = (r - 2 * d * m) % n, packed = ne(m % together, 0) }
    end)
  end
end

function by_size(p)
  return fill_slots(p, 512 * 1024, pat)
end
