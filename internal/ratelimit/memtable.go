package ratelimit

// cell is what Memory keeps per key, whatever the algorithm: 32 bytes and no pointer for the collector to follow.
type cell struct {
	hash  uint64  // of policy and key; 0 marks a free cell
	until Instant // from then on the key is untouched again and may be dropped
	a, b  int64   // the rest of the algorithm's state, and the number of its limit
}

// table is a hash table of cells with linear probing. The zero value is empty. It has its own code and is not a map
// because a map would need two look-ups per decision and could not be walked a few cells at a time.
type table struct {
	cells []cell // a power of two, at most three quarters used
	used  int
	hand  int // where evict goes on
}

const minCells = 16

// find returns the index of a hash, or -1.
func (t *table) find(hash uint64) int {
	if len(t.cells) == 0 {
		return -1
	}
	mask := len(t.cells) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		switch t.cells[i].hash {
		case hash:
			return i
		case 0:
			return -1
		}
	}
}

// get returns the cell of a hash, the zero cell if there is none.
func (t *table) get(hash uint64) cell {
	if i := t.find(hash); i >= 0 {
		return t.cells[i]
	}
	return cell{}
}

// put writes c under its hash.
func (t *table) put(c cell) {
	if i := t.find(c.hash); i >= 0 {
		t.cells[i] = c
		return
	}
	if (t.used+1)*4 > len(t.cells)*3 {
		t.resize(max(minCells, 2*len(t.cells)))
	}
	t.insert(c)
}

// insert writes a cell that is not there yet.
func (t *table) insert(c cell) {
	mask := len(t.cells) - 1
	i := int(c.hash) & mask
	for t.cells[i].hash != 0 {
		i = (i + 1) & mask
	}
	t.cells[i] = c
	t.used++
}

// remove frees cell i and moves later ones of its run up, so that a run has no gaps.
func (t *table) remove(i int) {
	mask := len(t.cells) - 1
	for j := (i + 1) & mask; t.cells[j].hash != 0; j = (j + 1) & mask {
		home := int(t.cells[j].hash) & mask
		if (j-home)&mask >= (j-i)&mask { // home is not between i and j: the cell may move to i
			t.cells[i] = t.cells[j]
			i = j
		}
	}
	t.cells[i] = cell{}
	t.used--
}

// evict drops one untouched cell if it meets one within a few steps, going round the table from call to call.
func (t *table) evict(now Instant) bool {
	const steps = 32
	for range min(steps, len(t.cells)) {
		t.hand = (t.hand + 1) & (len(t.cells) - 1)
		if c := &t.cells[t.hand]; c.hash != 0 && c.until <= now {
			t.remove(t.hand)
			return true
		}
	}
	return false
}

// sweep drops every untouched cell and gives back memory that is no longer needed.
func (t *table) sweep(now Instant) {
	live := 0
	for i := range t.cells {
		if c := &t.cells[i]; c.hash != 0 && c.until > now {
			live++
		}
	}
	if live == t.used {
		return
	}
	size := minCells
	for live*4 > size*3 {
		size *= 2
	}
	old := t.cells
	*t = table{cells: make([]cell, size)}
	for i := range old {
		if old[i].hash != 0 && old[i].until > now {
			t.insert(old[i])
		}
	}
}

func (t *table) resize(size int) {
	old := t.cells
	*t = table{cells: make([]cell, size)}
	for i := range old {
		if old[i].hash != 0 {
			t.insert(old[i])
		}
	}
}
