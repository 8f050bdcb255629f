import JuiceDomain
import JuiceMessages

/// The service's way from a command to the bytes of its answer, under one menu: its own decoder, juice maker and encoder.
final class Replay {
    let menu: Menu
    /// The menu's digest, as position notes give it.
    let digest: UInt64
    private let decoder: CommandDecoder
    private let maker: JuiceMaker
    private let encoder: AnswerEncoder
    private var content = AnswerContent()
    private var buffer = OutputBuffer()

    init(_ menu: Menu) {
        self.menu = menu
        digest = JournalAccount.digest(of: menu)
        (decoder, maker, encoder) = (CommandDecoder(menu: menu), JuiceMaker(menu: menu), AnswerEncoder(menu: menu))
    }

    typealias Decoded = Result<(kind: CommandKind, id: String, content: CommandContent), DeadLetterReason>

    /// Reads the value of a record of an input. Not inlined: Swift 6.3.1 fails to optimize a caller that takes the content alone.
    @inline(never)
    func read(_ value: UnsafeRawBufferPointer?, _ topic: InputTopic) -> Decoded {
        switch decoder.decode(value, of: topic) {
        case .command(let kind, let id, let content): .success((kind, String(id), content))
        case .undecodable(let reason): .failure(reason)
        }
    }

    func content(of command: Command) -> CommandContent {
        let read = command.value.withBytes { self.read($0, command.kind.inputTopic) }
        return if case .success(let read) = read { read.content } else { command.content }
    }

    /// The answer to a task, up to the message; nil if it depends on unknown levels.
    func answer(to task: Command.Task, _ head: AnswerHead, on state: StoreState) -> [UInt8]? {
        let levels = menu.fruits.map(state.level)
        guard var fruits = try? FruitStore(levels: levels.map { $0 ?? 0 }) else { return nil }
        var content = content
        switch task.content {
        case .make(let order): maker.count(order, &content.fruits)
        case .cancel: content.setFruits(to: task.returned, of: menu)
        case .apply(let edit): content.fruits.set(edit, left: fruits)
        case .reject: content.fruits.removeAll()
        }
        let isAbsolute = if case .apply(let edit) = task.content { edit.kind == .set } else { false }
        guard isAbsolute || (0..<content.fruits.count).allSatisfy({ levels[content.fruits[$0].fruit] != nil }) else { return nil }
        buffer.removeAll()
        do throws(Rejection) {
            let isChanged = try content.carryOut(task.content, by: maker, on: &fruits)
            content.revision = isChanged ? (state.revision ?? 0) &+ 1 : 0
            encoder.write(content, head, into: &buffer)
        } catch {
            encoder.write(error, head, into: &buffer)
        }
        return withoutMessage
    }

    /// The answer to a command whose first answer is lost, up to the message.
    func answer(lost was: FormerOutcome, _ head: AnswerHead) -> [UInt8] {
        buffer.removeAll()
        encoder.write(lost: was, head, into: &buffer)
        return withoutMessage
    }

    private var withoutMessage: [UInt8] { buffer.unsafeBytes.beforeMessage.map { Array($0) } ?? [] }

    /// The stock record of a store in a state; nil if part of that is unknown.
    func stock(of store: UnsafeRawBufferPointer, _ state: StoreState) -> [UInt8]? {
        let levels = menu.fruits.compactMap(state.level)
        guard levels.count == menu.fruits.count, let fruits = try? FruitStore(levels: levels), let revision = state.revision else {
            return nil
        }
        buffer.removeAll()
        encoder.stock(store: BorrowedText(store), revision: revision, levels: fruits, into: &buffer)
        return buffer.bytes
    }

    /// A hash of what an answer says, the same for a first answer and its repeats: the type, and all that follows its head.
    func contents(of value: UnsafeRawBufferPointer, _ head: AnswerHead) -> Int {
        var first = Array(value)
        // The mark of a repeat follows the type, which contains no comma.
        if head.isDuplicate, let comma = first.firstIndex(of: UInt8(ascii: ",")) {
            first.removeSubrange(comma..<comma + #","duplicate":true"#.utf8.count)
        }
        buffer.removeAll()
        let head = AnswerHead(head.command, id: head.id, store: head.store, offset: 0)
        first.withUnsafeBytes { buffer.append(repeating: $0, for: head) }
        var hasher = Hasher()
        hasher.combine(bytes: buffer.unsafeBytes)
        return hasher.finalize()
    }
}

extension UnsafeRawBufferPointer {
    private static let message = Array(#","message":""#.utf8)

    /// An answer up to its message; nil if that is not the last member, or is empty.
    var beforeMessage: UnsafeRawBufferPointer? {
        // Within a text, quotes are escaped. So this is the name of a member.
        let name = Self.message
        guard var start = indices.dropLast(name.count).last(where: { self[$0] == name[0] && self[$0...].starts(with: name) }) else {
            return nil
        }
        let before = UnsafeRawBufferPointer(rebasing: self[..<start])
        start += name.count
        var end = start
        while end < count, self[end] != UInt8(ascii: "\"") { end += self[end] == UInt8(ascii: "\\") ? 2 : 1 }
        return end > start && end == count - 2 && self[end + 1] == UInt8(ascii: "}") ? before : nil
    }

    func isSame(as other: [UInt8]) -> Bool { other.withUnsafeBytes { BorrowedText(self) == BorrowedText($0) } }
}

extension [UInt8]? {
    /// Calls `body` with the bytes; nil stays nil.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer?) throws -> Result) rethrows -> Result {
        guard let bytes = self else { return try body(nil) }
        return try bytes.withUnsafeBytes { try body($0) }
    }
}
