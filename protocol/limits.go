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
	DeltaBytes   int `json:"deltaBytes"`   // of a snapshot, delta or page as encoded, though always one row
	PageRows     int `json:"pageRows"`     // rows of a history page

	Subscriptions int `json:"subscriptions"` // rooms of one connection with live rows
	SendRooms     int `json:"sendRooms"`     // rooms of one connection subscribed by live: false
	ServerFrame   int `json:"serverFrame"`   // the greatest frame that the server sends, as encoded
}

// DefaultLimits are those of version 1 of the protocol.
var DefaultLimits = Limits{
	Text: 16 << 10, Data: 64 << 10, Frame: 256 << 10, Room: 128, ClientID: 128, Ref: 64,
	SnapshotRows: 200, DeltaRows: 500, DeltaBytes: 1 << 20, PageRows: 200,
	// A server that doesn't name its greatest frame may send 1 MiB of rows with every byte escaped as six.
	Subscriptions: 1000, SendRooms: 1000, ServerFrame: 8 << 20,
}

// What a client believes of limits.serverFrame, and how much it reads before the welcome that tells it. Bytes.
const (
	WelcomeFrame   = 64 << 10
	MaxServerFrame = 64 << 20
)

// Names of what was added to version 1, as a welcome announces them (docs/spec/protocol.md, Features).
const (
	FeatureLive     = "subscribe.live" // subscribe with live: false
	FeatureMaxBytes = "maxBytes"       // maxBytes in subscribe and history
)

// Bounds of welcome.features; what lies beyond is ignored.
const (
	maxFeatures = 64
	maxFeature  = 64
)

// Features are those that this version's server has, in the order in which they are announced.
func Features() []string { return []string{FeatureLive, FeatureMaxBytes} }

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
		{"deltaBytes", &l.DeltaBytes}, {"pageRows", &l.PageRows}, {"subscriptions", &l.Subscriptions},
		{"sendRooms", &l.SendRooms}, {"serverFrame", &l.ServerFrame},
	}
}
