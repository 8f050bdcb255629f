import JuiceMaker
import JuiceMessages

/// Which page waits for the answer to which command.
struct AwaitedAnswers: Sendable {
    /// A command as its answer names it.
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

    /// How many there are at most; beyond, the one that waits the longest is forgotten. Its page asks again.
    static let most = 10_000
    /// How many a page may have.
    static let mostOfPage = 100

    private var pages: [Command: Name] = [:]
    private var counts: [Name: Int] = [:]
    /// The commands in the order in which they came, those that were answered meanwhile among them.
    private var order: [Command] = []

    /// Takes note of who waits.
    ///
    /// - Returns: false when the page waits for too many already.
    mutating func add(_ command: Command, page: Name) -> Bool {
        if let former = pages[command] {
            // The same order asked for again, perhaps by the same page after it was loaded anew.
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

    /// The page that waits for the answer to a command, which it does no longer.
    @discardableResult
    mutating func remove(_ command: Command) -> Name? {
        guard let page = pages.removeValue(forKey: command) else { return nil }
        let count = counts[page, default: 1] - 1
        counts[page] = count > 0 ? count : nil
        return page
    }

    var isEmpty: Bool { pages.isEmpty }
}
