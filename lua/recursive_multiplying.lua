-- Recursive multiplying allreduce: as recursive doubling, but in each step a rank exchanges everything
-- it has with three others, those whose numbers differ from its own in one digit to the base 4. Half
-- as many steps, each with three messages: good where messages are small, a step costs more than a
-- post, and many are cheap at once.
-- With n no power of four, the ranks beyond the largest power m first hand their message to the one
-- below m with the same last digits, and get the result from it at the end.
collective = "allreduce"

function plan(p)
  local n, r, m = p.ranks, p.rank, 1
  while 4 * m <= n do m = 4 * m end
  local beyond = (n - 1) // m -- ranks that hand their message to rank 0: at most 3
  for i = 1, beyond do
    p:send { to = r % m, where = eq(r // m, i), reduce = true }
  end
  local d = 1
  while d < m do
    p:step(function()
      for i = 1, 3 do
        local digit = r // d % 4
        p:send { to = r + ((digit + i) % 4 - digit) * d, where = lt(r, m), reduce = true }
      end
    end)
    d = 4 * d
  end
  for i = 1, beyond do
    p:send { to = r + i * m, where = both(lt(r, m), lt(r + i * m, n)) }
  end
end
