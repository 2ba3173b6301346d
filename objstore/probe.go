// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lakeplane/lake/lake"
)

const (
	probePrefix = "lake-probe/"
	probeRacers = 8
)

// Probe checks that a store keeps the promises on which no acknowledged append
// can be lost: that a put never replaces an object, also when several race,
// and that what was put is read and listed at once. Some services accept the
// condition of a put and ignore it, so it is tried, not asked for. Call it
// before the first write of a process.
//
// A store that breaks a promise is lake.Unsupported, with the promise in the
// message; a store that does not answer is the store's own error. The objects
// of the probe are deleted, also when it fails; those of a crashed one lie
// under "lake-probe/" and are nobody's.
func Probe(ctx context.Context, s Store) error {
	key := probePrefix + lake.NewID().String()
	err := probe(ctx, s, key)
	if e := s.Delete(context.WithoutCancel(ctx), key); err == nil && e != nil {
		err = e
	}
	return lake.Wrap("probe the object store", err)
}

func probe(ctx context.Context, s Store, key string) error {
	winner, err := probeRace(ctx, s, key)
	if err != nil {
		return err
	}
	switch err := s.Put(ctx, key, []byte("a later writer")); {
	case err == nil:
		return broken("a put replaced an object that was there: it ignores the condition that the key be absent")
	case !errors.Is(err, ErrExists):
		return err
	}
	found, err := ReadAll(ctx, s, key, 1024)
	if err != nil && !lake.Is(err, lake.NotFound) && !lake.Is(err, lake.Corrupt) {
		return err
	}
	if !bytes.Equal(found, winner) {
		return broken("an object does not hold what its one successful put wrote")
	}
	infos, _, err := s.List(ctx, probePrefix, before(key), 1)
	if err == nil && (len(infos) != 1 || infos[0].Key != key) {
		err = broken("an object that was put is not listed")
	}
	return err
}

// probeRace lets several writers put different bytes under one key and returns
// those of the only one that may have succeeded.
func probeRace(ctx context.Context, s Store, key string) (winner []byte, err error) {
	var mu sync.Mutex
	var wins int
	var racers sync.WaitGroup
	for i := range probeRacers {
		racers.Go(func() {
			data := fmt.Appendf(nil, "writer %d", i)
			e := s.Put(ctx, key, data)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case e == nil:
				wins++
				winner = data
			case !errors.Is(e, ErrExists):
				err = e
			}
		})
	}
	racers.Wait()
	switch {
	case wins > 1:
		return nil, broken("%d of %d racing puts of one key succeeded: it ignores the condition that the key be absent", wins, probeRacers)
	case wins == 0 && err == nil:
		return nil, broken("none of %d racing puts of an absent key succeeded", probeRacers)
	case wins == 0:
		return nil, err
	}
	return winner, nil // a loser that got another error has lost all the same
}

// before returns a key that sorts right before key, so that a listing after it
// begins with key.
func before(key string) string { return key[:len(key)-1] }

func broken(format string, args ...any) error {
	return lake.Errorf(lake.Unsupported, "this store cannot hold tables: "+format, args...)
}
