-- Reduce-scatter by parallel trees, as NCCL's PAT: pat.lua backwards. The near hops come first; the
-- contributions to the block of rank c climb a binomial tree of its own, in which c is the root.
-- Blocks of one round travel together while they fit into one of NCCL's slots.
collective = "reduce_scatter"

local function pat(p, together)
  local n, r = p.ranks, p.rank
  p:split(n)
  for k = 0, log2_up(n) - 1 do
    local d = 1 << k
    local blocks = (n + d - 1) // (2 * d) -- those whose tree has a rank d further on
    p:loop(blocks, function(m)
      p:send { to = (r - d) % n, chunk = (r - d - 2 * d * m) % n, reduce = true,
               packed = ne(m % together, 0) }
    end)
  end
end

function by_size(p)
  return fill_slots(p, 512 * 1024, pat)
end
