package ratelimit

// part is the claims of a request that one store counts.
type part struct {
	backend *Backend
	claims  []Claim
	index   []int // where they stand among all claims; nil: they are all
}

func (p *part) at(i int) int {
	if p.index == nil {
		return i
	}
	return p.index[i]
}

// parts sorts claims by store, in the order in which the stores are first named. Those that no store counts and those
// on trial are left out; statuses, if given, say which.
func (l *Limiter) parts(parts []part, claims []Claim, statuses []Status) []part {
	apart := func(i int) bool { return i < len(statuses) && (statuses[i].Exempt || statuses[i].Shadow) }
	if len(claims) == 0 {
		return parts
	}
	first := l.backend(&claims[0])
	same := 0
	for same < len(claims) && l.backend(&claims[same]) == first && !apart(same) {
		same++
	}
	if same == len(claims) {
		return append(parts, part{backend: first, claims: claims})
	}
	for i := range claims {
		if apart(i) {
			continue
		}
		b, j := l.backend(&claims[i]), 0
		for j < len(parts) && parts[j].backend != b {
			j++
		}
		if j == len(parts) {
			parts = append(parts, part{backend: b})
		}
		parts[j].claims = append(parts[j].claims, claims[i])
		parts[j].index = append(parts[j].index, i)
	}
	return parts
}

func (l *Limiter) backend(c *Claim) *Backend {
	if len(l.Backends) > 0 && c.Policy != nil {
		if b := l.Backends[c.Policy.Name]; b != nil {
			return b
		}
	}
	return l.Default
}
