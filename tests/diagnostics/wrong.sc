initialization { last = None }
on entering state { last = checkpoint( }
on arriving state x { stop() }
on watchpoint do v = 3
entering state y { stop() }
on leaving accepting state { lst = last2 }
