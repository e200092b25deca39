-- Binomial tree allreduce: contributions climb to rank 0 in log2(n) steps, the sum comes down again.
-- In step k of the way up, the ranks whose lowest set bit is 2^k send to the rank without that bit.
-- Up and down run in lanes of their own, so that a long message flows through both at once.
collective = "allreduce"

function plan(p)
  local n, r = p.ranks, p.rank
  local steps = log2_up(n)
  p:loop(steps, function(k)
    local bit = 1 << k
    p:send { to = r - bit, where = eq(r % (2 * bit), bit), reduce = true, lane = 0 }
  end)
  p:loop(steps, function(k)
    local bit = 1 << (steps - 1 - k)
    p:send { to = r + bit, where = both(eq(r % (2 * bit), 0), lt(r + bit, n)), lane = 1 }
  end)
end
