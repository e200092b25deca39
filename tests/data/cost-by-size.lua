-- A ring whose reduce-scatter steps cost more for middle sizes.
collective = "allreduce"
local function ring(cost)
  return function(p)
    local n, r = p.ranks, p.rank
    p:split(n)
    p:loop(n - 1, function(k)
      p:send { to = (r + 1) % n, chunk = (r - k) % n, reduce = true, cost = cost }
    end)
    p:loop(n - 1, function(k)
      p:send { to = (r + 1) % n, chunk = (r + 1 - k) % n }
    end)
  end
end
by_size = { { up_to = "64 kB", plan = ring("1 us") }, { up_to = "2 MB", plan = ring("3 us") }, { plan = ring("0 us") } }
