import JuiceMaker
import NIOCore
import Synchronization

/// What a page looks at.
struct PageView: Hashable, Sendable {
    /// The store whose stock it shows.
    let store: Name
    /// Whether its board is about all stores.
    let showsAll: Bool

    /// The store that its board is about; nil is all.
    var scope: Name? { showsAll ? nil : store }
}

/// One open page.
final class Subscriber: Sendable {
    let view: PageView
    /// What the page calls itself, to be given the answers that it asked for.
    let page: Name
    /// Tells that something waits, however much it is.
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let mailbox = Mutex(Mailbox<ByteBuffer>())

    init(view: PageView, page: Name) {
        self.view = view
        self.page = page
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Changes what waits.
    func post(_ change: (inout Mailbox<ByteBuffer>) -> Void) {
        mailbox.withLock { change(&$0) }
        wake.yield()
    }

    /// All that waits, as one piece to send.
    func take() -> ByteBuffer {
        mailbox.withLock { $0.take() }.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
    }

    /// Nothing more will come.
    func close() { wake.finish() }
}
