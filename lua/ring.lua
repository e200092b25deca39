-- Ring allreduce. The message is cut into n chunks. In n-1 steps every chunk travels once round
-- the ring and collects all contributions; in n-1 more the finished chunks travel round again.
-- Each rank sends 2(n-1)/n of the message.
collective = "allreduce"

function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  p:loop(n - 1, function(k) -- reduce-scatter: k = 0 .. n-2
    p:send { to = (r + 1) % n, chunk = (r - k) % n, reduce = true }
  end)
  p:loop(n - 1, function(k) -- allgather: rank r now owns chunk r+1
    p:send { to = (r + 1) % n, chunk = (r + 1 - k) % n }
  end)
end
