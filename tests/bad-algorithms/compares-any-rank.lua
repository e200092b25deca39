collective = "broadcast"
function plan(p)
  if p.rank < 4 then
    p:send { to = p.rank + 4 }
  end
end
