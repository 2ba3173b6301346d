// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

// number finds the groups of rows, and makes those that are new.
func (f *Fold) number(g []uint32, from int) error {
	for i := range f.keys {
		to := g
		if i > 0 {
			to = f.otherNumbers[:len(g)]
		}
		if err := f.numberKey(i, to, from); err != nil {
			return f.damaged(f.spec.Keys[i], err)
		}
		if i > 0 {
			if err := f.pairs[i-1].number(g, to, f.sides(i-1)); err != nil {
				return err
			}
		}
	}
	f.rows += len(g)
	return f.seen()
}

// numberKey gives rows the numbers of one key's values.
func (f *Fold) numberKey(i int, out []uint32, from int) error {
	k, v := f.keys[i], f.views[f.spec.Keys[i]]
	if v.valid == nil {
		return k.number(out, from)
	}
	var valid mask
	valid.fill(len(out))
	valid.and(v.valid, v.offset+from, len(out))
	return valid.runs(len(out), func(set bool, first, last int) error {
		if set {
			return k.number(out[first:last], from+first)
		}
		null := k.null()
		for r := first; r < last; r++ {
			out[r] = null
		}
		return nil
	})
}

// sides are how many numbers there are on the sides of pairs[i].
func (f *Fold) sides(i int) [2]int {
	first := f.keys[0].count()
	if i > 0 {
		first = len(f.pairs[i-1].known)
	}
	return [2]int{first, f.keys[i+1].count()}
}

// seen makes states for the groups that are new.
func (f *Fold) seen() error {
	groups := f.keys[0].count()
	if last := len(f.pairs); last > 0 {
		groups = len(f.pairs[last-1].known)
	}
	if groups > maxGroups {
		return ErrEngine
	}
	if f.rows >= f.patience {
		if f.before > 0 && groups-f.before > newShare {
			return ErrEngine
		}
		f.patience, f.before = f.rows+stretchRows, groups
	}
	if groups > f.groups {
		f.groups = groups
		f.grow()
		return f.check()
	}
	return nil
}

// adopt has the number here of each group of another fold.
func (f *Fold) adopt(other *Fold) ([]uint32, error) {
	to, err := f.keys[0].adopt(other.keys[0])
	if err != nil {
		return nil, err
	}
	for i, p := range f.pairs {
		second, err := f.keys[i+1].adopt(other.keys[i+1])
		if err != nil {
			return nil, err
		}
		if to, err = p.adopt(other.pairs[i], to, second, f.sides(i)); err != nil {
			return nil, err
		}
	}
	return to, f.seen()
}

// keyNumbers has, for each key, the numbers of the groups' values.
func (f *Fold) keyNumbers() [][]uint32 {
	out := make([][]uint32, len(f.keys))
	if len(out) == 0 {
		return out
	}
	numbers := make([]uint32, f.groups)
	for i := range numbers {
		numbers[i] = uint32(i + 1)
	}
	for i := len(f.pairs) - 1; i >= 0; i-- {
		second := make([]uint32, f.groups)
		for j, n := range numbers {
			pair := f.pairs[i].known[n-1]
			numbers[j], second[j] = pair[0], pair[1]
		}
		out[i+1] = second
	}
	out[0] = numbers
	return out
}
