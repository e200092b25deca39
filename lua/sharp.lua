-- Allreduce in the network (SHARP). Every rank sends its message up once; the switch adds what
-- arrives and sends the sum down to all.
collective = "allreduce"

function plan(p)
  p:switch_reduce {}
  p:switch_multicast {}
end
