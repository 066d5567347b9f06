//go:build !js

package sqlite

import (
	"bytes"
	"errors"
	"testing"

	"hapax/client/store"
)

// TestAStoreIsOpenedForItsActor: whose a store is, is known before anything of it is read or written, without a network too.
func TestAStoreIsOpenedForItsActor(t *testing.T) {
	anna, eve := store.Claimant{Actor: "anna"}, store.Claimant{Actor: "eve", Claim: true}
	refused := func(path string, c store.Claimant, want error) {
		t.Helper()
		before := bytesOf(t, path)
		if s, err := Open(t.Context(), path, Options{Claimant: c}); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", c, err, want)
			if err == nil {
				s.Close()
			}
		}
		if !bytes.Equal(before, bytesOf(t, path)) {
			t.Errorf("%+v: the file changed", c)
		}
	}
	for _, version := range []int{1, 2} { // whose owner a welcome noted
		path := oldFile(t, version, "plain.db")
		refused(path, eve, store.ErrWrongStore)
		open(t, path, Options{Claimant: anna}).Close()
		refused(path, eve, store.ErrWrongStore)
	}

	fresh := newFile(t).path // whose opening noted it
	s := open(t, fresh, Options{Claimant: anna})
	if o, err := s.Owner(t.Context()); err != nil || o != (store.Owner{Actor: "anna"}) {
		t.Errorf("owner %+v, %v", o, err)
	}
	if err := s.Bind(t.Context(), store.Owner{Actor: "eve", Server: "s"}); !errors.Is(err, store.ErrWrongStore) {
		t.Errorf("another actor's welcome: %v", err)
	}
	s.Close()
	refused(fresh, eve, store.ErrWrongStore)
	open(t, fresh, Options{Claimant: anna}).Close()
	again := open(t, fresh, Options{})
	if err := again.Bind(t.Context(), store.Owner{Actor: "eve", Server: "s"}); !errors.Is(err, store.ErrWrongStore) {
		t.Errorf("a handle that doesn't say for whom: %v", err)
	}
	if err := again.Bind(t.Context(), store.Owner{Actor: "anna", Server: "s"}); err != nil {
		t.Errorf("its own welcome: %v", err)
	}
}

// TestRowsOfNobodyAreNobodysToSend: rows that name no actor are offered to the app, and never sent by themselves.
func TestRowsOfNobodyAreNobodysToSend(t *testing.T) {
	path := newFile(t).path
	s := open(t, path, Options{})
	if _, err := s.Add(t.Context(), 0, busyEntry("a")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := Open(t.Context(), path, Options{Claimant: store.Claimant{Actor: "eve"}}); !errors.Is(err, store.ErrUnowned) {
		t.Errorf("an actor who doesn't claim them: %v", err)
	}
	s = open(t, path, Options{})
	if err := s.Bind(t.Context(), store.Owner{Actor: "eve", Server: "s"}); !errors.Is(err, store.ErrUnowned) {
		t.Errorf("whoever connects first: %v", err)
	}
	s.Close()
	open(t, path, Options{Claimant: store.Claimant{Actor: "anna", Claim: true}}).Close()
	if _, err := Open(t.Context(), path, Options{Claimant: store.Claimant{Actor: "eve", Claim: true}}); !errors.Is(err, store.ErrWrongStore) {
		t.Errorf("claimed by another one: %v", err)
	}
	s = open(t, path, Options{})
	if err := s.Bind(t.Context(), store.Owner{Actor: "anna", Server: "s"}); err != nil {
		t.Errorf("its owner: %v", err)
	}
}
