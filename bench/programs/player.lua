-- What mpv says of a film it has shown, as the programs here do: frames that
-- were dropped or came late, and what the debugger used of a processor.

local function read(path)
    local file = io.open(path)
    if not file then return nil end
    local text = file:read("*a")
    file:close()
    return text
end

-- In nanoseconds; the kernel counts hundredths of a second. Threads of it are
-- in it.
local function tracer_cpu()
    local pid = (read("/proc/self/status") or ""):match("TracerPid:%s+(%d+)")
    local stat = pid ~= "0" and read("/proc/" .. pid .. "/stat")
    if not stat then return 0 end
    local fields = {}
    for field in stat:match("%) (.*)"):gmatch("%S+") do
        fields[#fields + 1] = field
    end
    return (tonumber(fields[12]) + tonumber(fields[13])) * 1e7
end

local began, cpu

mp.register_event("file-loaded", function()
    began, cpu = mp.get_time(), tracer_cpu()
end)

local counts = { dropped = 0, delayed = 0 }
mp.observe_property("frame-drop-count", "number", function(_, n) counts.dropped = n or counts.dropped end)
mp.observe_property("vo-delayed-frame-count", "number", function(_, n) counts.delayed = n or counts.delayed end)

mp.register_event("end-file", function()
    local out = io.open(os.getenv("BENCH_OUT"), "w")
    out:write(string.format('{"ns":%.0f,"late":%d,"tracer_cpu_ns":%.0f}',
        (mp.get_time() - began) * 1e9, counts.dropped + counts.delayed, tracer_cpu() - cpu))
    out:close()
end)
