package protocol

// Subprotocol is the WebSocket subprotocol that both sides must name.
const Subprotocol = "hapax.v1"

// MaxSeq is the greatest seq that a room can reach, 2^53 − 1, so that a seq is exact in every JSON reader.
const MaxSeq = 1<<53 - 1

// Types of the commands that a client sends.
const (
	TypeHello       = "hello"
	TypeSubscribe   = "subscribe"
	TypeUnsubscribe = "unsubscribe"
	TypeSend        = "send"
	TypeStatus      = "status"
	TypeHistory     = "history"
	TypePing        = "ping"
)

// Types of the events that a server sends.
const (
	TypeWelcome      = "welcome"
	TypeAck          = "ack"
	TypeMessage      = "message"
	TypeSnapshot     = "snapshot"
	TypeDelta        = "delta"
	TypePage         = "page"
	TypeSubscribed   = "subscribed"
	TypeUnsubscribed = "unsubscribed"
	TypePong         = "pong"
	TypeError        = "error"
)

// Cursor says how far a client holds a room without a gap: all rows up to After, the last of which is MessageID, in
// the history Epoch. It is one value and changes only as a whole. (epoch, 0, "") is the cursor of an empty room.
type Cursor struct {
	Epoch     string `json:"epoch"`
	After     int64  `json:"after"`
	MessageID string `json:"messageId"`
}

// Command is a frame from a client to a server. Type says which of the other fields count.
// Times are Unix milliseconds of the server's clock throughout the protocol.
type Command struct {
	Type            string
	Ref             string  // echoed in the answer; 64 bytes at most
	Token           string  // hello
	Client          string  // hello: a name for logs, optional
	Room            string  // subscribe, unsubscribe, send, status, history
	Cursor          *Cursor // subscribe
	SendOnly        bool    // subscribe: `live: false`, for sending without rows
	Limit           int     // subscribe (rows of a snapshot), history; -1 where absent
	MaxBytes        int     // subscribe, history: bytes of the answer as encoded; 0 where absent
	ClientMessageID string  // send, status
	Text            string  // send
	Data            []byte  // send: canonical JSON (RFC 8785); nil where absent or null
	SentAt          int64   // send, status: when the action was first tried; 0 where absent
	Follows         string  // send: id of the nearest earlier row of the room still in flight
	Before          int64   // history: rows with a seq below this one
}

// Message is a row of a room as readers see it.
type Message struct {
	Room            string
	Epoch           string
	Seq             int64
	MessageID       string
	Actor           string
	ClientMessageID string // on the author's own copies only
	Text            string
	Data            []byte // canonical JSON or nil
	At              int64
}

// Event is a frame from a server to a client. Type says which of the other fields count.
type Event struct {
	Type string
	Ref  string

	// welcome
	Session    string
	Actor      string
	Server     string
	ServerTime int64 // welcome, pong
	Limits     *Limits
	Features   []string
	Retention  int64 // dedupe.retentionMs

	Room  string // all that concern a room
	Epoch string // welcome, ack, message, snapshot, delta, page

	// ack
	ClientMessageID string // ack, error
	MessageID       string
	Seq             int64
	At              int64
	Duplicate       bool

	// message (one), snapshot, delta, page (many, by rising seq)
	Message  Message
	Head     int64
	HeadID   string
	Messages []Message
	More     bool

	Live   bool   // subscribed: whether rows follow
	Reason string // unsubscribed

	// error
	Code         Code
	Text         string // "message": for people
	Retryable    bool
	RetryAfterMs int64 // 0 where absent
}
