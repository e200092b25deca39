-- Allgather by recursive doubling: in step k every rank exchanges all it has, 2^k blocks, with the
-- rank at distance 2^k. As many bytes as the ring, (n-1)/n of the message, in log2 n steps. For
-- powers of two.
collective = "allgather"

function plan(p)
  local n, r = p.ranks, p.rank
  if n & (n - 1) ~= 0 then
    error("recursive doubling needs a power of two of ranks")
  end
  p:split(n)
  p:loop(log2(n), function(k)
    local have = 1 << k
    p:send { to = r ~ have, chunk = r // have * have, count = have }
  end)
end
