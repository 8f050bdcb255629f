import JuiceMaker
import JuiceMessages

/// A store that answers by the service's own decoder, juice maker and encoders.
final class Shop {
    let menu: Menu
    let store: String
    let decoder: CommandDecoder
    private let maker: JuiceMaker
    private let encoders: [AnswerEncoder]
    private var fruits: FruitStore
    private var revision = 0

    init(menu: Menu, store: String) {
        self.menu = menu
        self.store = store
        decoder = CommandDecoder(menu: menu)
        maker = JuiceMaker(menu: menu)
        encoders = [Language.english, .korean].map { AnswerEncoder(menu: menu, language: $0) }
        fruits = FruitStore(menu: menu)
    }

    /// The answers to a command, in each language and once more as to a repeat; none to what is no command.
    func answers(to kind: CommandKind, _ value: String) -> [String] {
        BorrowedText.withText(value) { value in
            BorrowedText.withText(store) { store in
                switch kind {
                case .order: answers(to: decoder.decodeOrder(value.bytes), store: store)
                case .restock: answers(to: decoder.decodeRestock(value.bytes), store: store)
                }
            }
        }
    }

    /// The record of the store's stock; nil for one that was never changed.
    func stockRecord() -> String? {
        guard revision > 0 else { return nil }
        return BorrowedText.withText(store) { store in
            written { encoders[0].stock(store: store, revision: revision, levels: fruits, into: &$0) }
        }
    }

    private func answers(to decoded: Decoded<OrderCommand>, store: BorrowedText) -> [String] {
        switch decoded {
        case .command(let order):
            switch maker.make(order.juice, quantity: order.quantity, from: &fruits) {
            case .made:
                revision += 1
                return variants {
                    $0.juiceMade(order, store: store, left: fruits, duplicate: $1, into: &$2)
                }
            case .outOfStock(let shortages):
                return variants {
                    $0.outOfStock(order, store: store, shortages: shortages, duplicate: $1, into: &$2)
                }
            }
        case .rejected(let id, let rejection): return rejections(.order, id, store, rejection)
        case .undecodable: return []
        }
    }

    private func answers(to decoded: Decoded<RestockCommand>, store: BorrowedText) -> [String] {
        switch decoded {
        case .command(let restock):
            do throws(StockEditError) {
                try fruits.apply(restock.edit)
            } catch {
                return rejections(.restock, restock.id, store, Rejection(error))
            }
            revision += 1
            return variants { $0.restocked(restock, store: store, left: fruits, duplicate: $1, into: &$2) }
        case .rejected(let id, let rejection): return rejections(.restock, id, store, rejection)
        case .undecodable: return []
        }
    }

    private func rejections(
        _ kind: CommandKind,
        _ id: BorrowedText,
        _ store: BorrowedText,
        _ rejection: Rejection
    ) -> [String] {
        variants { $0.rejected(kind, id: id, store: store, rejection: rejection, duplicate: $1, into: &$2) }
    }

    private func variants(_ write: (AnswerEncoder, Bool, inout OutputBuffer) -> Void) -> [String] {
        encoders.map { encoder in written { write(encoder, false, &$0) } }
            + [written { write(encoders[0], true, &$0) }]
    }
}

/// What an encoder appends to an empty buffer.
func written(_ append: (inout OutputBuffer) -> Void) -> String {
    var buffer = OutputBuffer()
    append(&buffer)
    return buffer.text
}
