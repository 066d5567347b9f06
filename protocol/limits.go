package protocol

// Limits are the bounds that a server announces in its welcome. Sizes are bytes.
type Limits struct {
	Text         int `json:"text"`         // text of a send, UTF-8
	Data         int `json:"data"`         // data of a send, in canonical form
	Frame        int `json:"frame"`        // a whole frame as received
	Room         int `json:"room"`         // a room's name, UTF-8
	ClientID     int `json:"clientId"`     // a client message id
	Ref          int `json:"ref"`          // a ref
	SnapshotRows int `json:"snapshotRows"` // rows of a snapshot
	DeltaRows    int `json:"deltaRows"`    // rows of a delta
	DeltaBytes   int `json:"deltaBytes"`   // bytes of a delta
	PageRows     int `json:"pageRows"`     // rows of a history page
}

// DefaultLimits are those of version 1 of the protocol.
var DefaultLimits = Limits{
	Text: 16 << 10, Data: 64 << 10, Frame: 256 << 10, Room: 128, ClientID: 128, Ref: 64,
	SnapshotRows: 200, DeltaRows: 500, DeltaBytes: 1 << 20, PageRows: 200,
}

// members pairs each limit with its name on the wire, in the order in which they are written.
func (l *Limits) members() []struct {
	name  string
	value *int
} {
	return []struct {
		name  string
		value *int
	}{
		{"text", &l.Text}, {"data", &l.Data}, {"frame", &l.Frame}, {"room", &l.Room}, {"clientId", &l.ClientID},
		{"ref", &l.Ref}, {"snapshotRows", &l.SnapshotRows}, {"deltaRows", &l.DeltaRows},
		{"deltaBytes", &l.DeltaBytes}, {"pageRows", &l.PageRows},
	}
}
