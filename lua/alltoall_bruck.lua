-- Alltoall by Bruck's algorithm: few messages, log2 n of them rounded up, for small blocks. A block
-- that has to go j ranks on makes a hop of 2^k for each bit k that is set in j. In round k all blocks
-- with bit k go together in one message (packed): half of them, so each rank sends S/2 log2 n.
-- On its way a block lies in the place of the message that is as far from the rank as it still has
-- to go; with its last hop it moves to its place in the result.
collective = "alltoall"

function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  for k = 0, log2_up(n) - 1 do
    local hop, begun = 1 << k, false
    p:step(function()
      for j = 1, n - 1 do
        local block = { to = (r + hop) % n, chunk = (r + j) % n, packed = begun }
        if j >> k == 1 then -- the highest bit
          block.into, block.write = (r + hop - j) % n, "result"
        else
          block.into = (r + hop + j) % n
        end
        if j & hop ~= 0 then
          p:send(block)
          begun = true
        end
      end
    end)
  end
end
