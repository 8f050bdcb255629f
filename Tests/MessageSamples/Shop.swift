import JuiceDomain
import JuiceMessages

/// A store that answers with the service's decoder, juice maker and encoders.
final class Shop {
    let menu: Menu
    let store: String
    let decoder: CommandDecoder
    private let maker: JuiceMaker
    private let encoders: [AnswerEncoder]
    private var fruits: FruitStore
    private var revision = 0
    private var offset: Int64 = 0
    /// The orders that were made, by their ids.
    private var made: [String: JuiceOrder] = [:]

    init(menu: Menu, store: String) {
        self.menu = menu
        self.store = store
        decoder = CommandDecoder(menu: menu)
        maker = JuiceMaker(menu: menu)
        encoders = [Language.english, .korean].map { AnswerEncoder(menu: menu, language: $0) }
        fruits = FruitStore(menu: menu)
    }

    /// The answers to a command: in each language, and once as to a repeat. None if the value is not a command.
    func answers(to kind: CommandKind, _ value: String) -> [String] {
        BorrowedText.withText(value) { value in
            BorrowedText.withText(store) { store in
                switch kind {
                case .order, .cancel: answers(to: decoder.decodeOrder(value.bytes), store: store)
                case .restock: answers(to: decoder.decodeRestock(value.bytes), store: store)
                }
            }
        }
    }

    /// The record of the store's stock; nil if it was never changed.
    func stockRecord() -> String? {
        guard revision > 0 else { return nil }
        return BorrowedText.withText(store) { store in
            written { encoders[0].stock(store: store, revision: revision, levels: fruits, into: &$0) }
        }
    }

    private func answers(to decoded: consuming Decoded<OrderCommand>, store: BorrowedText) -> [String] {
        switch decoded {
        case .command(let command):
            switch command.request {
            case .make(let order): return answers(to: order, head(.order, command.id, store))
            case .cancel: return answersToCancel(head(.cancel, command.id, store))
            }
        case .rejected(let id, let rejection): return answers(rejection, head(.order, id, store))
        case .undecodable: return []
        }
    }

    /// The head of the next answer. Every third command was forwarded.
    private func head(_ kind: CommandKind, _ id: BorrowedText, _ store: BorrowedText) -> AnswerHead {
        offset += 1
        let from = offset % 3 == 0 ? ForwardSource(partition: 3, offset: offset / 3) : nil
        return AnswerHead(kind, id: id, store: store, offset: offset, from: from)
    }

    private func answers(to order: JuiceOrder, _ head: AnswerHead) -> [String] {
        var content = AnswerContent()
        if content.make(order, by: maker, from: &fruits) == .made {
            revision += 1
            content.revision = revision
            made[String(head.id)] = order
        }
        return answers(content, head)
    }

    private func answersToCancel(_ head: AnswerHead) -> [String] {
        var content = AnswerContent()
        content.kind = .cancelled
        if let order = made.removeValue(forKey: String(head.id)) {
            maker.count(order, &content.fruits)
            do throws(StockEditError) { try fruits.putBack(&content.fruits) } catch { return answers(Rejection(error), head) }
            revision += 1
            content.revision = revision
        }
        return answers(content, head)
    }

    private func answers(to decoded: consuming Decoded<RestockCommand>, store: BorrowedText) -> [String] {
        switch decoded {
        case .command(let restock):
            let head = self.head(.restock, restock.id, store)
            do throws(StockEditError) { try fruits.apply(restock.edit) } catch { return answers(Rejection(error), head) }
            revision += 1
            var content = AnswerContent()
            content.revision = revision
            content.fruits.set(restock.edit, left: fruits)
            return answers(content, head)
        case .rejected(let id, let rejection): return answers(rejection, head(.restock, id, store))
        case .undecodable: return []
        }
    }

    private func answers(_ content: AnswerContent, _ head: AnswerHead) -> [String] {
        variants(of: head) { $0.write(content, $1, into: &$2) }
    }

    private func answers(_ rejection: Rejection, _ head: AnswerHead) -> [String] {
        variants(of: head) { $0.write(rejection, $1, into: &$2) }
    }

    private func variants(of head: AnswerHead, _ write: (AnswerEncoder, AnswerHead, inout OutputBuffer) -> Void) -> [String] {
        let first = encoders.map { encoder in written { write(encoder, head, &$0) } }
        return first + [[UInt8](first[0].utf8).withUnsafeBytes { bytes in written { $0.append(repeating: bytes, for: head) } }]
    }
}
