n := 0
on entering state x do
  n :=
on exit do setWatchpoint q->size
on changing any state of queue do if n = 2 stop
