import JuiceDomain
import JuiceMessages

/// A store that answers with the service's decoder, juice maker and encoders.
package final class Shop {
    /// The answers to a command.
    package struct Answered {
        package let command: CommandKind
        package let id: String
        package let offset: Int64
        package let from: RecordPosition?
        /// The store's revision after a command that changed it.
        package let revision: Int?
        package let rejection: Rejection?
        /// The answer in each language, and once for a repeat.
        package let values: [String]
        /// The answer to a repeat if the first answer is lost.
        package let lost: String
    }

    package let menu: Menu
    package let store: String
    /// Whether the service knows the store.
    private let isKnown: Bool
    let decoder: CommandDecoder
    private let maker: JuiceMaker
    private let encoders: [AnswerEncoder]
    private let initialFruits: FruitStore
    private(set) var fruits: FruitStore
    private var revision = 0
    private var lastOffset: Int64 = 0
    // Reused for each command, as in the service.
    private var content = AnswerContent()
    private var made: [String: JuiceOrder] = [:]
    private var cancelled: Set<String> = []

    /// A store with these fruits, by default with the menu's initial stock.
    package init(
        menu: Menu = .standard, store: String = "gangnam", fruits: FruitStore? = nil, revision: Int = 0, isKnown: Bool = true
    ) {
        (self.menu, self.store, self.revision, self.isKnown) = (menu, store, revision, isKnown)
        decoder = CommandDecoder(menu: menu)
        maker = JuiceMaker(menu: menu)
        encoders = Language.allCases.map { AnswerEncoder(menu: menu, language: $0) }
        initialFruits = fruits ?? FruitStore(menu: menu)
        self.fruits = initialFruits
    }

    /// The answer to a command; nil if the value is not a command. Without a given place, it has the next offset, and every third
    /// command counts as forwarded.
    package func answer(
        _ kind: CommandKind, _ value: UnsafeRawBufferPointer, at place: (offset: Int64, from: RecordPosition?)? = nil
    ) -> Answered? {
        switch decoder.decode(value, of: kind.inputTopic) {
        case .command(let kind, let id, let content):
            let name = String(id)
            return answer(kind, id, place) { () throws(Rejection) in
                try carryOut(content, name)
            }
        case .undecodable: return nil
        }
    }

    package func answer(
        _ kind: CommandKind, _ value: String, at place: (offset: Int64, from: RecordPosition?)? = nil
    ) -> Answered? { BorrowedText.withText(value) { answer(kind, $0.bytes, at: place) } }

    /// The record of the store's stock; nil if it was never changed.
    package func stockRecord() -> String? {
        guard revision > 0 else { return nil }
        return BorrowedText.withText(store) { store in
            written { encoders[0].stock(store: store, revision: revision, levels: fruits, into: &$0) }
        }
    }

    /// Forgets all commands.
    func restart() {
        fruits = initialFruits
        (revision, made, cancelled) = (0, [:], [])
    }

    private func carryOut(_ command: CommandContent, _ id: String) throws(Rejection) {
        content.fruits.removeAll()
        switch command {
        case .make where cancelled.contains(id): throw .cancelled
        case .cancel: made[id].map { maker.count($0, &content.fruits) }
        default: break
        }
        let isChanged = try content.carryOut(command, by: maker, on: &fruits)
        if isChanged {
            revision += 1
            content.revision = revision
        }
        switch command {
        case .make(let order) where isChanged: made[id] = order
        case .cancel:
            made[id] = nil
            cancelled.insert(id)
        default: break
        }
    }

    private func nextPlace() -> (offset: Int64, from: RecordPosition?) {
        lastOffset += 1
        return (lastOffset, lastOffset % 3 == 0 ? RecordPosition(partition: 3, offset: lastOffset / 3) : nil)
    }

    private func answer(
        _ kind: CommandKind, _ id: BorrowedText, _ place: (offset: Int64, from: RecordPosition?)?,
        _ execute: () throws(Rejection) -> Void
    ) -> Answered {
        let place = place ?? nextPlace()
        content.revision = 0
        var rejection: Rejection?
        do throws(Rejection) {
            guard isKnown else { throw BorrowedText.withText(store) { .unknown(store: $0) } }
            try execute()
        } catch { rejection = error }
        let revision = content.revision > 0 ? content.revision : nil
        return BorrowedText.withText(store) { store in
            let head = AnswerHead(kind, id: id, store: store, offset: place.offset, from: place.from)
            let first = encoders.map { encoder in
                written { buffer in
                    if let rejection { return encoder.write(rejection, head, into: &buffer) }
                    encoder.write(content, head, into: &buffer)
                }
            }
            let again = BorrowedText.withText(first[0]) { first in written { $0.append(repeating: first.bytes, for: head) } }
            let was = FormerOutcome(of: kind, isCarriedOut: rejection == nil && content.type != .outOfStock)
            let lost = written { encoders[Int(place.offset) % 2].write(lost: was, head, into: &$0) }
            return Answered(
                command: kind, id: String(id), offset: place.offset, from: place.from, revision: revision, rejection: rejection,
                values: first + [again], lost: lost)
        }
    }
}
