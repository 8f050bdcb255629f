import JuiceMaker
import JuiceMessages

/// Maps each command in flight to the page that waits for its answer.
struct AwaitedAnswers: Sendable {
    /// What identifies a command in its answer.
    struct Command: Hashable, Sendable {
        let kind: CommandKind
        let store: Name
        let id: Name

        init(kind: CommandKind, store: Name, id: Name) {
            (self.kind, self.store, self.id) = (kind, store, id)
        }

        init(_ command: OutgoingCommand) {
            self.init(kind: command.kind, store: Name(command.store), id: Name(command.id))
        }
    }

    /// The most commands in flight. Beyond that the oldest is dropped; its page sends it again.
    static let most = 10_000
    /// The most commands in flight per page.
    static let mostOfPage = 100

    private var pages: [Command: Name] = [:]
    private var counts: [Name: Int] = [:]
    /// The commands in order of arrival, including some that were answered since.
    private var order: [Command] = []

    /// Adds a command.
    ///
    /// - Returns: false if the page has too many commands in flight.
    mutating func add(_ command: Command, page: Name) -> Bool {
        if let former = pages[command] {
            // A resend of the same command, perhaps by the same page after a reload.
            guard former != page else { return true }
            remove(command)
        }
        guard counts[page, default: 0] < Self.mostOfPage else { return false }
        pages[command] = page
        counts[page, default: 0] += 1
        order.append(command)
        if order.count > Self.most {
            order.removeAll { pages[$0] == nil }
            while order.count > Self.most { remove(order.removeFirst()) }
        }
        return true
    }

    /// Removes a command.
    ///
    /// - Returns: the page that waited for its answer; nil if none did.
    @discardableResult
    mutating func remove(_ command: Command) -> Name? {
        guard let page = pages.removeValue(forKey: command) else { return nil }
        let count = counts[page, default: 1] - 1
        counts[page] = count > 0 ? count : nil
        return page
    }

    var isEmpty: Bool { pages.isEmpty }
}
