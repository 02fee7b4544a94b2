accesses := 0

on entering state x do
accesses := accesses + 1
if accesses = 2 then
 v := checkpoint
 setWatchpoint q->size rw
else
 restore-checkpoint v
 stop
