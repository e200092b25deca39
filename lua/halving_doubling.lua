-- Rabenseifner's allreduce: recursive halving scatters the sums, recursive doubling gathers them. As
-- few steps as recursive doubling times two, as few bytes as the ring. In step k of the first half
-- the ranks at distance m/2^(k+1) each send the half of their block that the other keeps.
-- With n no power of two, the ranks beyond the largest power m hand over first and receive last.
collective = "allreduce"

function plan(p)
  local n, r = p.ranks, p.rank
  local steps = log2(n)
  local m = 1 << steps
  p:split(m)
  if n > m then
    p:send { to = r - m, count = m, where = ge(r, m), reduce = true }
  end
  p:loop(steps, function(k)
    local half = m >> (k + 1)      -- chunks that are kept: those of the own side of the block
    local partner = r ~ half
    p:send { to = partner, chunk = partner // half * half, count = half,
             where = lt(r, m), reduce = true }
  end)
  p:loop(steps, function(k)
    local have = 1 << k            -- chunks that are finished: the block around the rank
    p:send { to = r ~ have, chunk = r // have * have, count = have, where = lt(r, m) }
  end)
  if n > m then
    p:send { to = r + m, count = m, where = lt(r, n - m) }
  end
end
