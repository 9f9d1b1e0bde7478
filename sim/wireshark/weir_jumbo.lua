-- Jumbo frames of Weir for Wireshark and tshark, both forms, as docs/jumbo.md has them.
-- Shows the header and the table, and gives each packet to Wireshark's own dissectors of IPv4 and IPv6.
-- Use: wireshark -X lua_script:weir_jumbo.lua, or copy it to the personal Lua plugins.

local jumbo = Proto("weir_jumbo", "Weir Jumbo Frame")

jumbo.prefs.ethertype = Pref.uint("EtherType", 0x88B5, "EtherType of the L2 form, decimal (0x88B5 is 35005)")
jumbo.prefs.protocol = Pref.uint("IPv4 protocol", 253, "Protocol number of the L3 form")

local f = {
  count = ProtoField.uint16("weir_jumbo.count", "Count", base.DEC),
  average = ProtoField.uint16("weir_jumbo.average", "Average length", base.DEC),
  version = ProtoField.uint8("weir_jumbo.version", "Version", base.DEC, nil, 0xF0),
  flags = ProtoField.uint8("weir_jumbo.flags", "Flags", base.HEX, nil, 0x0F),
  left_out = ProtoField.bool("weir_jumbo.flags.elided", "Headers are left out", 8, nil, 0x01),
  tick = ProtoField.uint8("weir_jumbo.tick", "Tick (log2 ns)", base.DEC),
  entry = ProtoField.none("weir_jumbo.entry", "Entry"),
  length = ProtoField.uint16("weir_jumbo.length", "Length", base.DEC),
  elided = ProtoField.bool("weir_jumbo.elided", "Headers left out"),
  spacing = ProtoField.uint16("weir_jumbo.spacing", "Spacing (ticks)", base.DEC),
  spacing_ns = ProtoField.uint64("weir_jumbo.spacing_ns", "Spacing (ns)", base.DEC),
  packet = ProtoField.bytes("weir_jumbo.packet", "Packet"),
  packets = ProtoField.uint16("weir_jumbo.packets", "Packets that are there", base.DEC),
}
jumbo.fields = f

local malformed = ProtoExpert.new(
  "weir_jumbo.malformed", "Malformed jumbo frame", expert.group.MALFORMED, expert.severity.ERROR)
jumbo.experts = { malformed }

local MAX_COUNT, SHORTEST, PADDED = 448, 20, 68
local TOO_SHORT = "the lengths add up to more than there is"
local ip, ipv6 = Dissector.get("ip"), Dissector.get("ipv6")

-- What the first bytes of an IP packet say of its length; nil if they do not reach so far, or it is no IP.
local function own_length(packet, version)
  if version == 4 and packet:len() >= 4 then return packet(2, 2):uint() end
  if version == 6 and packet:len() >= 6 then return packet(4, 2):uint() + 40 end
  return nil
end

-- What is wrong with the header, as far as `there` bytes of it were captured of the `size` that the frame has.
local function header_fault(tvb, there, size)
  if size < 6 then return "it ends inside its header" end
  if there >= 5 then
    local version, flags = tvb(4, 1):bitfield(0, 4), tvb(4, 1):bitfield(4, 4)
    if version ~= 1 then return "version " .. version end
    if flags > 1 then return "flags are " .. flags end
  end
  if there >= 6 and tvb(5, 1):uint() > 31 then return "tick " .. tvb(5, 1):uint() .. " is above 31" end
  if there >= 2 then
    local count = tvb(0, 2):uint()
    if count == 0 or count > MAX_COUNT then return "count " .. count end
    if size < 6 + 4 * count then return "it ends inside its table" end
  end
  return nil
end

-- The packets' places as far as they can be told: { at, bytes, elided, length }, the end of the last, and what is wrong.
-- `entries` of the `count` entries and `there` bytes were captured.
local function places(tvb, there, size, count, entries, elided_frame)
  local list, at, before = {}, 6 + 4 * count, 0
  for i = 0, entries - 1 do
    local length, elided, bytes = tvb(6 + 4 * i, 2):uint(), false, 0
    if elided_frame and length >= 0x8000 then
      length, elided = length - 0x8000, true
    end
    if length > 0 and length < SHORTEST then return list, at, "a length is 1 to 19" end
    if elided then
      if before == nil then return list, at, nil end
      if before == 0 then return list, at, "a packet cannot be foretold from the one before it" end
      bytes = length - before
    else
      bytes = length
    end
    if bytes < 0 or at + bytes > size then return list, at, TOO_SHORT end
    if not elided then
      -- the headers that a packet after it may leave out; nil: they were not captured
      before = 0
      if bytes >= 40 and at + 33 > there then
        before = nil
      elseif bytes >= 40 and tvb(at, 1):uint() == 0x45 and tvb(at + 9, 1):uint() == 6 then
        before = 20 + 4 * tvb(at + 32, 1):bitfield(0, 4)
      end
    end
    list[#list + 1] = { at = at, bytes = bytes, elided = elided, length = length }
    at = at + bytes
  end
  return list, at, nil
end

function jumbo.dissector(tvb, pinfo, tree)
  local there, size = tvb:len(), tvb:reported_len()
  local cut = there < size
  pinfo.cols.protocol = "WEIR"
  local top = tree:add(jumbo, tvb())
  local function malformed_as(fault)
    top:add_proto_expert_info(malformed, fault)
    pinfo.cols.info = "Malformed jumbo frame: " .. fault
  end
  if there >= 2 then top:add(f.count, tvb(0, 2)) end
  if there >= 4 then top:add(f.average, tvb(2, 2)) end
  if there >= 5 then
    top:add(f.version, tvb(4, 1))
    top:add(f.flags, tvb(4, 1)):add(f.left_out, tvb(4, 1))
  end
  if there >= 6 then top:add(f.tick, tvb(5, 1)) end
  local fault = header_fault(tvb, there, size)
  if fault then
    malformed_as(fault)
    return there
  end
  if there < 6 then
    pinfo.cols.info = "Jumbo frame (captured in part)"
    return there
  end

  local count, tick, elided_frame = tvb(0, 2):uint(), tvb(5, 1):uint(), tvb(4, 1):bitfield(7, 1) == 1
  local entries = math.min(count, math.floor((there - 6) / 4))
  local list, tail
  list, tail, fault = places(tvb, there, size, count, entries, elided_frame)
  -- Padding is behind the IP packet of the L3 form, and so not in `tvb`: an IP protocol is a number below 256.
  local l3 = pinfo.match < 256
  if not fault and #list == count and tail < size and (l3 or tvb:offset() + size > PADDED) then
    fault = "the lengths add up to less than there is"
  end
  top:set_len(math.min(tail, there))
  local packets, first = 0, nil
  for i = 1, entries do
    local at = 6 + 4 * (i - 1)
    local place, spacing = list[i], tvb(at + 2, 2):uint()
    local entry = top:add(f.entry, tvb(at, 4))
    entry:set_text("Entry " .. i)
    if place then
      entry:add(f.length, tvb(at, 2), place.length)
      if elided_frame then entry:add(f.elided, tvb(at, 2), place.elided) end
      entry:append_text(place.length == 0 and ": dropped" or (": " .. place.length .. " bytes"))
    else
      entry:add(f.length, tvb(at, 2))
    end
    entry:add(f.spacing, tvb(at + 2, 2))
    local ns = UInt64.new(spacing):lshift(tick)
    entry:add(f.spacing_ns, tvb(at + 2, 2), ns):set_generated()
    entry:append_text(", " .. tostring(ns) .. " ns after the one before")
    if place and place.length > 0 then packets = packets + 1 end
  end
  if #list == count then top:add(f.packets, tvb(0, 2), packets):set_generated() end

  for i, place in ipairs(list) do
    local captured = math.min(place.bytes, there - place.at)
    if captured > 0 then
      local range = tvb(place.at, captured)
      local branch = top:add(f.packet, range)
      branch:set_text("Packet " .. i .. ": " .. place.bytes .. " bytes")
      if captured < place.bytes then branch:append_text(", " .. captured .. " of them captured") end
      local version = range(0, 1):bitfield(0, 4)
      local own = own_length(range, version)
      if place.elided then
        branch:set_text("Packet " .. i .. ": payload, headers left out")
      else
        first = first or version
        if version ~= 4 and version ~= 6 then
          fault = fault or "a packet is neither IPv4 nor IPv6"
        elseif version ~= first then
          fault = fault or "the packets' IP versions differ"
        elseif own and own ~= place.bytes then
          fault = fault or "a packet's own length is not the table's"
        elseif version == 4 and captured >= 10 and range(9, 1):uint() == jumbo.prefs.protocol then
          fault = fault or "a packet is a jumbo frame (nested)"
        elseif captured == place.bytes then
          local inner = version == 4 and ip or ipv6
          inner:call(range:tvb(), pinfo, branch)
        end
      end
    end
  end
  pinfo.cols.protocol = "WEIR"
  pinfo.cols.info:clear_fence()
  if fault then
    malformed_as(fault)
  elseif #list == count then
    pinfo.cols.info = "Jumbo frame: " .. packets .. " of " .. count .. " packets, " .. tail .. " bytes" ..
      (cut and " (captured in part)" or "")
  else
    pinfo.cols.info = "Jumbo frame: up to " .. count .. " packets (captured in part)"
  end
  return math.min(tail, there)
end

-- The numbers that the dissector is registered for; they follow the preferences.
local registered = {}

local function register()
  local numbers = { ["ethertype"] = jumbo.prefs.ethertype, ["ip.proto"] = jumbo.prefs.protocol }
  for name, number in pairs(numbers) do
    local list = DissectorTable.get(name)
    if registered[name] and registered[name] ~= number then list:remove(registered[name], jumbo) end
    if registered[name] ~= number then list:add(number, jumbo) end
    registered[name] = number
  end
end

function jumbo.prefs_changed()
  register()
end

register()
