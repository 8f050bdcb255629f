import JuiceMessages

/// A record of an input that must be answered in its own partition.
struct Command {
    let kind: CommandKind
    let store: Int
    let id: String
    let identity: RecordDigest
    /// The identity under which its answer is remembered: its own, or for a cancel that of its order.
    let remembered: RecordDigest
    /// What it asks for, under the first menu.
    let content: CommandContent
    let value: [UInt8]?
    let times: SendTimes

    /// What the service may do with it, and what a cancel puts back: the cancel's record does not say that.
    typealias Task = (content: CommandContent, returned: [FruitAmount])
}
