package room

// Fit says how a reader's cursor stands to a room, and so what the reader gets: a delta where it Fits, else a snapshot.
type Fit uint8

// The fits, in the order in which they are judged.
const (
	NoCursor   Fit = iota // none given: a first look
	Malformed             // alarm: no server ever gave such a cursor
	OtherEpoch            // of another history: the store is new, was restored, or went back
	Future                // alarm: past the head of this very history
	AgedOut               // below the journal's low end, rows in between are gone
	Foreign               // alarm: the row at that seq is another one
	Fits                  // the row is the store's own: what comes after it can be given
	fits                  // how many there are
)

var fitNames = [fits]string{"no_cursor", "malformed", "other_epoch", "future", "aged_out", "foreign", "fits"}

// String returns the fit's name in metrics.
func (f Fit) String() string {
	if f < fits {
		return fitNames[f]
	}
	return "invalid"
}

// Fittings returns all fits, for those who count them.
func Fittings() []Fit {
	all := make([]Fit, fits)
	for i := range all {
		all[i] = Fit(i)
	}
	return all
}

// Alarm reports that the cursor could not have been right: a fault of the client or of the store. An operator
// should see it (docs/spec/protocol.md, Catching up).
func (f Fit) Alarm() bool { return f == Malformed || f == Future || f == Foreign }

// Resume judges a cursor by docs/spec/protocol.md, Catching up. epoch and s are the store's; rowID is the messageId of the
// row at c.After, and held says whether the journal still has that row. All are of one consistent reading.
//
// The cursor is taken as a whole: a seq alone says nothing, for another history may have reached it with other rows.
func Resume(epoch string, s State, c *Cursor, rowID string, held bool) Fit {
	switch {
	case c == nil:
		return NoCursor
	case c.Epoch == "" || c.After < 0 || (c.After == 0) != (c.MessageID == ""):
		return Malformed
	case c.Epoch != epoch:
		return OtherEpoch
	case c.After > s.Head:
		return Future
	case c.After < s.Low:
		return AgedOut
	}
	own, known := rowID, held
	switch c.After {
	case s.Low: // aged out as the last one, or 0 where none has: nothing after it is missing
		own, known = s.LowID, true
	case s.Head:
		own, known = s.HeadID, true
	}
	if !known || own != c.MessageID {
		return Foreign
	}
	return Fits
}
