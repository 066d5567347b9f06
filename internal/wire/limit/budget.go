package limit

import (
	"sync"
	"sync/atomic"
)

// Holder is whose bytes or work are counted: an actor, or a client before anybody has signed in. The zero Holder shares nothing out.
type Holder struct {
	Client Client
	Actor  string
}

// ByClient is the holder of who hasn't signed in.
func ByClient(c Client) Holder { return Holder{Client: c} }

// ByActor is the holder of who has.
func ByActor(actor string) Holder { return Holder{Actor: actor} }

// inSum says that a holder has no share of its own: many stand behind it.
func (h Holder) inSum() bool { return h.Actor == "" && (h.Client.Shared() || h.Client == Client{}) }

// shareOf is the part of a budget that one holder may have: so it takes four to keep others out.
const shareOf = 4

// Budget shares out memory by bytes: no more than Total in sum, and no more than a quarter of it to one holder.
type Budget struct {
	total int64
	used  atomic.Int64

	mu       sync.Mutex
	accounts map[Holder]*Account
}

// Account is what one holder has of a budget. It is made for as long as somebody uses it: who opened it closes it.
type Account struct {
	budget *Budget
	holder Holder
	share  int64
	used   atomic.Int64
	users  int // under Budget.mu
}

// NewBudget returns a budget of total bytes.
func NewBudget(total int64) *Budget {
	return &Budget{total: total, accounts: make(map[Holder]*Account)}
}

// Open returns a holder's account.
func (b *Budget) Open(h Holder) *Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.accounts[h]
	if a == nil {
		a = &Account{budget: b, holder: h, share: b.total / shareOf}
		if h.inSum() {
			a.share = b.total
		}
		b.accounts[h] = a
	}
	a.users++
	return a
}

// Close says that the account isn't used any more by who opened it. What it took must have been given back.
func (a *Account) Close() {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.users--; a.users == 0 {
		delete(b.accounts, a.holder)
	}
}

// Take takes n bytes, or none where that would be over the holder's share or the sum.
func (a *Account) Take(n int64) bool {
	if a.used.Add(n) > a.share {
		a.used.Add(-n)
		return false
	}
	if a.budget.used.Add(n) > a.budget.total {
		a.Give(n)
		return false
	}
	return true
}

// Force takes n bytes whatever the bounds: for what is in memory already and has a bound of its own.
func (a *Account) Force(n int64) {
	a.used.Add(n)
	a.budget.used.Add(n)
}

// Give gives n bytes back.
func (a *Account) Give(n int64) {
	a.used.Add(-n)
	a.budget.used.Add(-n)
}

// Free is how many bytes are left of the whole budget.
func (a *Account) Free() int64 { return a.budget.Free() }

// Used is how many bytes are taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Total is how many there are.
func (b *Budget) Total() int64 { return b.total }

// Free is how many are left.
func (b *Budget) Free() int64 { return max(0, b.total-b.used.Load()) }
