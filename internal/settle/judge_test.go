package settle

import "testing"

// feed judges events of one key in order and returns the decisions.
func feed(policy Policy, registration Registration, events ...Event) []Decision {
	var book KeyBook
	var all []Decision
	for i := range events {
		all = append(all, book.Take(&policy, &registration, &events[i]).Decision)
	}
	return all
}

func at(seenAt int64) Event { return Event{SeenAt: seenAt, AmountOK: true} }

func expect(t *testing.T, got []Decision, want ...Decision) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("decisions %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("decisions %v, want %v", got, want)
		}
	}
}

var (
	lenient = Policy{BlockWindowS: 100}
	strict  = Policy{BlockWindowS: 100, ScopeStrict: true}
	onWire  = Registration{Scope: ScopeWire}
)

func TestAnchorIsThePredecessor(t *testing.T) {
	expect(t, feed(lenient, onWire, at(0), at(90), at(180), at(270)), Accept, DuplicateDone, DuplicateDone, DuplicateDone)
}

func TestBoundIsInside(t *testing.T) {
	expect(t, feed(lenient, onWire, at(0), at(100), at(201)), Accept, DuplicateDone, Accept)
}

func TestWindowOfZero(t *testing.T) {
	expect(t, feed(Policy{}, onWire, at(5), at(5), at(6)), Accept, DuplicateDone, Accept)
}

func TestOwnWindowBeforeTheDefault(t *testing.T) {
	expect(t, feed(lenient, Registration{Scope: ScopeWire, WindowS: 10}, at(0), at(10), at(21)), Accept, DuplicateDone, Accept)
	expect(t, feed(lenient, Registration{Scope: ScopeWire, WindowS: 500}, at(0), at(500)), Accept, DuplicateDone)
}

func TestStateOfThePredecessorNamesTheDuplicate(t *testing.T) {
	pending := at(10)
	pending.State = StatePending
	expect(t, feed(lenient, onWire, pending, at(20), at(30)), Accept, DuplicatePending, DuplicateDone)
}

func TestScopesPartWhereStrict(t *testing.T) {
	schema, wire := at(10), at(20)
	schema.Scope, wire.Scope = ScopeSchema, ScopeWire
	expect(t, feed(strict, onWire, at(0), schema, wire), Accept, Accept, Accept)
	expect(t, feed(lenient, onWire, at(0), schema, wire), Accept, DuplicateDone, DuplicateDone)
}

func TestEmptyScopeIsTheRegistered(t *testing.T) {
	schema := at(10)
	schema.Scope = ScopeSchema
	expect(t, feed(strict, Registration{Scope: ScopeSchema}, at(0), schema, at(20)), Accept, DuplicateDone, DuplicateDone)
}

func TestRejectedIsNoPredecessor(t *testing.T) {
	bad := at(90)
	bad.AmountOK = false
	expect(t, feed(lenient, onWire, at(0), bad, at(150)), Accept, BadAmount, Accept)
}

func TestUnknownKeyBeforeBadAmount(t *testing.T) {
	bad := Event{}
	if o := Judge(Facts{Policy: &lenient}, &bad); o.Decision != UnknownKey {
		t.Errorf("an unregistered key with a bad amount is %v", o.Decision)
	}
	if o := Judge(Facts{Policy: &lenient, Registration: &onWire}, &bad); o.Decision != BadAmount {
		t.Errorf("a registered key with a bad amount is %v", o.Decision)
	}
}

func TestOpeningRowStandsBeforeEarlierEvents(t *testing.T) {
	var book KeyBook
	book.Open(Predecessor{SeenAt: 5000, Scope: ScopeWire, State: StatePending})
	early := at(10)
	o := book.Take(&strict, &onWire, &early)
	if o.Decision != DuplicatePending || o.GapS != -4990 {
		t.Errorf("a negative gap gives %+v", o)
	}
}

func TestOutcomeSaysWhatItWasMeasuredWith(t *testing.T) {
	var book KeyBook
	first, second := at(10), at(47)
	book.Take(&strict, &onWire, &first)
	if o := book.Take(&strict, &onWire, &second); o != (Outcome{Decision: DuplicateDone, Scope: ScopeWire, WindowS: 100, GapS: 37}) {
		t.Errorf("outcome %+v", o)
	}
}

func TestBookRemembersTheLastHit(t *testing.T) {
	var book KeyBook
	for i, rank := range []int64{7, 9, 3} {
		e := Event{SeenAt: int64(i), Seq: int64(10 + i), LRURank: rank, AmountOK: true}
		book.Take(&lenient, &onWire, &e)
	}
	if want := (Recency{LRURank: 3, SeenAt: 2, Seq: 12}); book.Hits != 2 || book.LastHit != want {
		t.Errorf("%d hits, last %+v", book.Hits, book.LastHit)
	}
}

func TestOrderOfJudging(t *testing.T) {
	early, late := Event{SeenAt: 1, Seq: 9}, Event{SeenAt: 2, Seq: 1}
	if early.Compare(&late) >= 0 || late.Compare(&early) <= 0 || early.Compare(&early) != 0 {
		t.Error("seen_at doesn't come before seq")
	}
	first, second := Event{SeenAt: 2, Seq: 1}, Event{SeenAt: 2, Seq: 2}
	if first.Compare(&second) >= 0 || second.Compare(&first) <= 0 {
		t.Error("seq doesn't order equal times")
	}
}

func TestTotalsAddUp(t *testing.T) {
	var totals Totals
	var tenant Tenant
	amount := Amount{Whole: 2, Fraction: 50_000_000}
	for _, d := range []Decision{UnknownKey, BadAmount, DuplicatePending, DuplicateDone, DuplicateDone, Accept, Accept, Accept} {
		totals.Add(&tenant, Outcome{Decision: d}, &Event{Amount: amount})
	}
	c := totals.Counts
	if c.Events() != 8 || c.Reject() != 2 || c.Dedupe() != 3 || c.Accept != 3 || c.DuplicatePending != 1 || c.DuplicateDone != 2 {
		t.Errorf("counts %+v", c)
	}
	if totals.Accepted.String() != "7.50" || totals.Deduped.String() != "7.50" || tenant.Accepted != 3 || tenant.Total.String() != "7.50" {
		t.Errorf("accepted %s, deduped %s, tenant %d %s", totals.Accepted.String(), totals.Deduped.String(), tenant.Accepted, tenant.Total.String())
	}
	double := totals
	double.Merge(&totals)
	twice := tenant
	twice.Merge(&tenant)
	if double.Counts.Events() != 16 || double.Accepted.String() != "15.00" || double.Deduped.String() != "15.00" || twice.Accepted != 6 || twice.Total.String() != "15.00" {
		t.Errorf("merged: %+v, tenant %+v", double, twice)
	}
}
