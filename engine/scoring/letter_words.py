"""The words that say which option is meant, by language: the tables of :mod:`letters_abroad`.

See :mod:`word_tables` for how entries are written.
"""

from __future__ import annotations

ANSWER = {
    "es": "respuesta solución solucion contestación",
    "fr": "réponse reponse solution",
    "de": "antwort lösung richtige_wahl",
    "pt": "resposta solução gabarito",
    "it": "risposta soluzione",
    "nl": "antwoord oplossing",
    "sv": "svar svaret",
    "da": "svar svaret svarmulighed",
    "pl": "odpowiedź odpowiedz odpowiedzią rozwiązanie rozwiązaniem",
    "cs": "odpověď odpovědí řešení",
    "ro": "răspuns răspunsul raspuns raspunsul",
    "hu": "válasz megoldás",
    "fi": "vastaus vastaukseni",
    "tr": "cevap cevabı cevabım cevabımız yanıt yanıtı yanıtım seçimim tercihim",
    "id": "jawaban jawabannya jawapan jawabanku",
    "vi": "đáp_án câu_trả_lời đáp_số lời_giải kết_luận kết_quả",
    "ru": "ответ ответом выбор итого",
    "uk": "відповідь відповіддю вибір",
    "el": "απάντηση απαντηση",
    "ar": "الإجابة الجواب الاجابة إجابة جواب فالجواب فالإجابة إجابتي جوابي الحل",
    "fa": "پاسخ جواب",
    "he": "תשובה התשובה שהתשובה תשובתי הפתרון",
    "hi": "उत्तर जवाब निष्कर्ष",
    "bn": "উত্তর",
    "th": "คำตอบ ตอบ เฉลย สรุป",
    "ja": "答え 正解 解答 回答 正答 答 結論",
    "ko": "정답 답은 답: 답이 답입 답변 결론",
    "zh": "答案 答： 答: 结论 結論 正解",
}
"""Nouns for the answer. Right before a letter they may only name an option ("Antwort B sagt …")."""

RIGHT = {
    "es": "correct- verdader- acertad- adecuad- apropiad- válid- exact- precis- idóne- mejor"
    " coincide corresponde cumple encaja cierta cierto",
    "fr": "correct- vrai- exact- juste bonne bon approprié- adapté- adéquate convient convienne"
    " correspond valide pertinent- meilleure meilleur attendue s'impose s’impose l'emporte",
    "de": "richtig- korrekt- zutreffend- trifft stimmt passt passend- wahr beste- geeignet-"
    " treffend- entspricht zu_wählen gesucht gesuchte",
    "pt": "corret- verdadeir- adequad- apropriad- válid- exat- precis- melhor corresponde"
    " encaixa satisfaz condiz certo certa",
    "it": "corrett- giust- esatt- adatt- appropriat- valid- precis- miglior- corrisponde"
    " coincide adeguat- soddisfa vera vero",
    "nl": "juist- correct- klopt beste past komt_overeen passend- geschikt- goed goede",
    "sv": "rätt riktig- korrekt- stämmer sant sann bäst- passar motsvarar",
    "da": "rigtig- korrekt- passer sandt bedst- svarer_til stemmer",
    "no": "riktig- beste tilsvarer",
    "pl": "poprawn- prawidłow- właściw- prawdziw- słuszn- trafn- najlepsz- najlepiej pasuje"
    " odpowiada dobra odpowiedni- zgadza",
    "cs": "správn- pravdiv- nejlepší nejlépe vhodn- odpovídá platí",
    "ro": "corect- adevărat- potrivit- bună corespunde exact-",
    "hu": "helyes- igaz megfelelő- legjobb jó",
    "fi": "oikea oikein oikeassa paras sopiva sopii totta",
    "tr": "doğru- uygun- geçerli- karşılık uymaktadır uyuyor isabetli",
    "id": "benar tepat sesuai cocok terbaik betul terdapat_pada",
    "vi": "đúng chính_xác phù_hợp hợp_lý tốt_nhất tương_ứng thỏa_mãn thoả_mãn khớp nằm_ở"
    " thuộc_về ứng_với trùng_với",
    "ru": "правильн- верен верна верно прав подходит подходящ- соответствует лучш- точн-"
    " корректн- истинн- наилучш- уместн- совпадает верный верная верное верным верной верны",
    "uk": "правильн- вірн- підходить відповідає найкращ- точн- істинн-",
    "el": "σωστ- ορθ- ταιριάζει καταλληλότερ- αντιστοιχεί",
    "ar": "صحيح- الصحيح- الأنسب الأصح الأدق المناسب- مناسب- صواب الصواب أفضل الأفضل يتوافق"
    " يتطابق الأقرب يطابق يحقق دقيق- الدقيق- يوافق يقابل يناسب ينطبق موافق",
    "fa": "صحیح درست مناسب- بهترین مطابقت",
    "he": "נכונ- הנכונ- נכון הנכון המתאימ- מתאימ- הטוב-",
    "hi": "सही उपयुक्त सर्वोत्तम सटीक सत्य मेल उचित",
    "bn": "সঠিক ঠিক উপযুক্ত",
    "th": "ถูก เหมาะสม ตรงกับ ดีที่สุด เป็นจริง สอดคล้อง",
    "ja": "正しい 正しく 正しいもの 適切 適当 妥当 ふさわしい 当てはま 該当 一致 対応 満たす"
    " 満たし 最適 相応しい 正確 合致 あてはま",
    "ko": "맞 옳 올바른 올바르 적절 적합 알맞 해당 정확 일치 만족 타당 정답 부합",
    "zh": "正确 正確 对的 對的 合适 合適 恰当 恰當 最佳 符合 对应 對應 最好 成立 准确 準確 适当"
    " 適當 相符 属实 屬實 满足 滿足 吻合 适合 適合 贴切 貼切 匹配",
}

CHOOSE = {
    "es": "elijo elegiría elegiria escojo escogería escogeria selecciono seleccionaría marco"
    " marcaría marcaria señalo opto optaría me_quedo me_quedaría me_decanto me_decantaría"
    " me_inclino diría diria creo pienso considero_que votaría apuesto voy_con iría_con"
    " seleccionamos elegimos escogemos marcamos mi_elección concluimos concluyo debe_ser"
    " tiene_que_ser se_elige se_trata para_mí a_mi_juicio en_mi_opinión marqué elegí escogí opté"
    " seleccioné",
    "fr": "choisis choisirais choisirai opte opterais opterai penche pencherais dirais pense"
    " prends retiens retient sélectionne coche cocher choisir choisit choisissons mon_choix"
    " crois c'est c’est il_s'agit il_s’agit ce_serait ce_doit_être d'après_moi à_mon_avis"
    " selon_moi pour_moi on_retient prendrais vote mise choisi opté",
    "de": "wähle wählen nehme entscheide tippe denke würde_sagen glaube meine markiere"
    " bin_sicher entscheiden fällt_auf handelt muss_es ankreuzen kreuze es_muss"
    " meiner_meinung_nach meines_erachtens meiner_ansicht_nach es_ist das_ist das_wäre plädiere"
    " gewählt angekreuzt",
    "pt": "escolho escolheria marco marcaria assinalo assinalaria fico_com ficaria opto optaria"
    " diria acho penso acredito seleciono selecionaria minha_escolha trata-se só_pode_ser"
    " deve_ser na_minha_opinião para_mim a_meu_ver vou_de voto aposto concluímos concluo"
    " assinalar marcar escolhemos marquei escolhi optei assinalei selecionei",
    "it": "scelgo sceglierei opto opterei direi credo penso punterei voto seleziono"
    " la_mia_scelta si_tratta deve_essere secondo_me per_me a_mio_parere a_mio_avviso propendo"
    " concludo ritengo scegliamo segno segnerei mi_oriento scelto optato",
    "nl": "kies kiezen ga_voor zou_voor denk volgens_mij naar_mijn_mening mijn_keuze gok"
    " selecteer moet_het het_moet het_is houd_het_op",
    "sv": "väljer skulle_välja tror gissar enligt_mig mitt_val måste_vara det_är jag_anser",
    "da": "vælger ville_vælge tror gætter efter_min_mening mit_valg det_er må_være",
    "no": "velger ville_velge mitt_valg etter_min_mening",
    "pl": "wybieram wybrałbym wybrałabym wybieramy stawiam myślę sądzę uważam obstawiam"
    " zaznaczam zaznaczyłbym zaznaczyć skłaniam moim_zdaniem według_mnie mój_wybór to_musi_być"
    " jest_to decyduję zaznaczyłabym wybrałem wybrałam zaznaczyłem",
    "cs": "volím vybírám vybral zvolil zvolila myslím podle_mě dle_mého můj_výbór musí_být vyberu",
    "ro": "aleg alege alegem aș_alege cred_că cred selectez părerea_mea alegerea_mea optez"
    " trebuie_să_fie",
    "hu": "választom választanám szerintem gondolom választásom",
    "fi": "valitsen valitsisin luulen uskon mielestäni arvaan veikkaan",
    "tr": "seçiyorum seçerim seçerdim işaretlerim işaretlerdim işaretliyorum bence düşünüyorum"
    " tercih kanaatindeyim kesinlikle seçilmelidir seçeriz olmalı olmalıdır olacaktır seçtim"
    " işaretledim",
    "id": "memilih pilih saya_memilih menurut_saya pilihan_saya menurutku saya_yakin saya_rasa"
    " saya_pikir saya_kira",
    "vi": "chọn tôi_nghĩ theo_tôi mình_nghĩ chắc_chắn tôi_cho_rằng theo_mình chắc_là khoanh"
    " tôi_tin",
    "ru": "выбираю выберу выбрал выбрала думаю считаю полагаю склоняюсь по-моему на_мой_взгляд"
    " по_моему_мнению по_моему однозначно останавливаюсь выбираем выбрать скорее_всего отмечаю"
    " голосую уверен уверена должно_быть",
    "uk": "обираю вибираю обрав обрала думаю вважаю на_мою_думку по-моєму обираємо вибрав мабуть",
    "el": "επιλέγω διαλέγω νομίζω πιστεύω θεωρώ κατά_τη_γνώμη_μου θα_έλεγα",
    "ar": "أختار اختار سأختار اخترت نختار أعتقد أظن برأيي رأيي اختياري أرى إنها إنه أرجح",
    "fa": "انتخاب به_نظر_من به_نظرم فکر",
    "he": "בוחר בוחרת לדעתי חושב חושבת אבחר אני_מאמין",
    "hi": "चुनूँगा चुनूंगा चुनूंगी चुनूँगी चुनता चुनती चुनेंगे मेरे_विचार मेरे_अनुसार मुझे_लगता चुनाव चयन चुना चुनना",
    "bn": "বেছে নির্বাচন আমার_মতে মনে_হয়",
    "th": "เลือก คิดว่า น่าจะ ขอเลือก เห็นว่า ฟันธง",
    "ja": "選び 選ぶ 選択し 選択す 思い 思う 考え と判断 に決 を選",
    "ko": "선택하 선택합 선택할 고르 고릅 고를 생각 봅니다 판단 추정 택하 골라",
    "zh": "选择 選擇 应选 應選 选 選 认为 認為 觉得 覺得 应该是 應該是 应为 應為 那就是 可能是"
    " 倾向于 傾向於 猜 判断为 判斷為 确定是 应是 應是 判定",
}
"""Verbs of choosing and believing, and what else points at one option."""

SO = {
    "es": "por_lo_tanto por_tanto así_que asi_que entonces luego en_conclusión conclusión"
    " por_consiguiente de_ahí finalmente en_resumen sino sin_duda definitivamente en_definitiva"
    " por_ende así_pues es_decir claramente por_eso en_realidad",
    "fr": "donc ainsi par_conséquent en_conclusion conclusion finalement en_résumé d'où"
    " sans_hésiter sans_doute sans_aucun_doute alors par_élimination mais_plutôt en_somme bref"
    " clairement en_réalité en_fait",
    "de": "also daher somit folglich deshalb demnach damit schlussfolgerung fazit letztlich"
    " sondern zusammenfassend endgültig eindeutig deswegen mithin insgesamt demzufolge"
    " in_wirklichkeit tatsächlich",
    "pt": "portanto logo assim então conclusão em_conclusão desse_modo dessa_forma desta_forma"
    " finalmente e_sim mas_sim sem_dúvida por_isso por_conseguinte ou_seja deste_modo por_fim"
    " enfim dessa_maneira por_eliminação na_verdade na_realidade",
    "it": "quindi dunque pertanto perciò allora in_conclusione conclusione di_conseguenza bensì"
    " senza_dubbio per_esclusione infine per_questo ovvero cioè in_definitiva in_realtà",
    "nl": "dus daarom derhalve bijgevolg concluderend conclusie kortom maar_wel zonder_twijfel"
    " uiteindelijk vandaar zodoende eigenlijk",
    "sv": "alltså därför således därmed slutsats sammanfattningsvis utan_tvekan följaktligen",
    "da": "altså derfor således dermed konklusion uden_tvivl følgelig",
    "no": "altså derfor dermed konklusjon uten_tvil følgelig",
    "pl": "więc zatem dlatego czyli stąd toteż podsumowując wniosek ostatecznie lecz tylko_że"
    " w_takim_razie reasumując bez_wątpienia w_związku_z_tym wobec_tego w_rzeczywistości naprawdę",
    "cs": "tedy takže proto závěr nakonec celkově tudíž bezpochyby",
    "ro": "deci așadar prin_urmare astfel concluzie în_concluzie aşadar în_consecință"
    " fără_îndoială",
    "hu": "tehát így ezért következésképpen összegezve vagyis",
    "fi": "siis joten näin_ollen siksi lopuksi johtopäätös eli",
    "tr": "dolayısıyla bu_nedenle bu_yüzden o_halde o_hâlde yani sonuç sonuçta öyleyse"
    " bundan_dolayı böylece şüphesiz demek_ki bu_durumda özetle aslında",
    "id": "jadi oleh_karena_itu maka dengan_demikian kesimpulan kesimpulannya sehingga"
    " karena_itu akhirnya melainkan tanpa_ragu singkatnya sebenarnya",
    "vi": "vậy do_đó vì_vậy vì_thế nên như_vậy tóm_lại suy_ra cho_nên mà_là do_vậy bởi_vậy"
    " thực_ra thực_tế",
    "ru": "значит следовательно поэтому таким_образом итак вывод стало_быть отсюда в_итоге"
    " исходя_из_этого без_сомнения в_результате соответственно на_самом_деле",
    "uk": "отже тому таким_чином висновок значить звідси насправді",
    "el": "άρα επομένως συνεπώς οπότε τελικά συμπέρασμα συμπερασματικά έτσι",
    "ar": "إذن إذا_فالإجابة إذًا إذاً لذلك لذا وبالتالي بالتالي وعليه وهكذا بل وإنما خلاصة"
    " الخلاصة ولذلك ولذا ومن_ثم نستنتج باختصار أي في_الحقيقة في_الواقع",
    "fa": "بنابراین پس در_نتیجه نتیجه لذا بلکه",
    "he": "לכן ולכן מכאן לסיכום אלא כלומר מסקנה",
    "hi": "इसलिए अतः तो इस_प्रकार बल्कि निष्कर्षतः अत: इसलिये यानी अंततः वास्तव_में",
    "bn": "তাই সুতরাং অতএব অর্থাৎ",
    "th": "ดังนั้น เพราะฉะนั้น จึง สรุป แต่เป็น ฉะนั้น นั่นคือ จริงๆ_แล้ว",
    "ja": "したがって 従って よって ゆえに 故に 以上 つまり なので だから 結論 結局 そのため"
    " すなわち このため ということ ため、 ので、 実際は 実は",
    "ko": "따라서 그러므로 그래서 결론 즉 결국 그렇다면 고로 그러니 므로 아니라 사실은 실제로는",
    "zh": "因此 所以 故 综上 綜上 由此 可见 可見 结论 結論 于是 於是 从而 從而 而是 即 也就是"
    " 最终 最終 总之 總之 因而 得出 可得 得到 可知 那么 那麼 推出 其实 其實 实际上 實際上",
}

ONLY = {
    "es": "solo sólo solamente únicamente única único queda quedaría por_descarte por_eliminación",
    "fr": "seule seul seulement uniquement reste ne_reste_que élimination",
    "de": "nur einzige einzig bleibt übrig ausschlussverfahren ausschlussprinzip",
    "pt": "só somente apenas única único unicamente resta sobra restou",
    "it": "solo soltanto solamente unica unico rimane resta",
    "nl": "alleen enige enkel blijft",
    "sv": "endast bara enda återstår kvar",
    "da": "kun eneste tilbage",
    "no": "bare gjenstår",
    "pl": "tylko jedynie jedyna jedyną wyłącznie zostaje pozostaje pozostała",
    "cs": "pouze jen jediná jedině zbývá zůstává",
    "ro": "doar numai singura singurul rămâne",
    "hu": "csak egyedül marad",
    "fi": "vain ainoa jää jäljelle",
    "tr": "sadece yalnızca yalnız tek geriye kalıyor kalır kaldı",
    "id": "hanya satu-satunya tersisa",
    "vi": "chỉ duy_nhất còn_lại",
    "ru": "только лишь единственн- остаётся остается остался осталась методом_исключения",
    "uk": "лише тільки єдин- залишається",
    "el": "μόνο μόνη απομένει μένει",
    "ar": "فقط الوحيد- يتبقى يبقى تبقى سوى وحده",
    "fa": "فقط تنها باقی",
    "he": "רק היחיד- נשאר נותר",
    "hi": "केवल सिर्फ सिर्फ़ एकमात्र बचता बचा",
    "bn": "শুধু কেবল একমাত্র",
    "th": "เท่านั้น เพียง แค่ เหลือ เฉพาะ",
    "ja": "唯一 残る 残り 残っ 消去法",
    "ko": "유일 남는 남습 남은 남게",
    "zh": "只有 仅有 僅有 唯一 只剩 剩下 仅 僅 淘汰法 刪去法 删去法 排除后 排除後",
}
"""Only, alone, left over, most: what sets one option apart."""

NOT = {
    "es": "no ni tampoco nunca descart- descartamos imposible parcialmente descartar excluir"
    " eliminar elimina excluye",
    "fr": "n'est n’est pas ni éliminée éliminé écartée jamais à_tort partiellement exclure"
    " exclut exclue exclus éliminer éliminons écarter écarte",
    "de": "nicht kein- weder noch ausgeschlossen niemals teilweise ausschließen ausschliessen"
    " scheidet entfällt streichen",
    "pt": "não nao nem nunca descart- tampouco eliminad- parcialmente descartar excluir eliminar"
    " elimina exclui",
    "it": "non né esclus- parzialmente escludere escludo escludiamo eliminare",
    "nl": "niet geen noch gedeeltelijk uitsluiten valt_af",
    "sv": "inte varken ej uteslut-",
    "da": "ikke hverken",
    "no": "verken",
    "pl": "nie ani żadn- odpada wykluczam częściowo wykluczyć odrzucić odrzucam wykluczamy",
    "cs": "není nejsou ani neplatí žádn- vyloučit vylučujeme",
    "ro": "nu nici",
    "hu": "nem sem",
    "fi": "ei eivät",
    "tr": "değil- hiçbir- uygun_değil elenir elenebilir kısmen eleyebiliriz elemek",
    "id": "bukan tidak kurang_tepat bukanlah dikecualikan eliminasi",
    "vi": "không chưa không_phải loại_trừ một_phần loại_bỏ",
    "ru": "не ни нет исключаем отпадает частично исключить отбросить отбрасываем исключаю",
    "uk": "не ні жоден виключити відкинути виключаємо",
    "el": "δεν ούτε όχι κανένα",
    "ar": "ليس ليست غير لا لم لن كلا مستبعد- جزئيا نستبعد استبعاد باستبعاد",
    "fa": "نیست نه نمی‌تواند",
    "he": "לא אינה אינו אין אף",
    "hi": "नहीं न ना",
    "bn": "নয় না নেই",
    "th": "ไม่ มิ",
    "ja": "ない なく ません 違い 違う 違って 該当しな 除外 外れ 部分的",
    "ko": "아니 아닙 아닌 않 없 못 거리가 배제 제외 부분적",
    "zh": "不 非 没 沒 无 無 排除 未 排除掉 部分",
}

AND = {
    "es": "y o e u tanto ambas",
    "fr": "et ou ainsi_que",
    "de": "und oder sowie",
    "pt": "e ou ambas quanto",
    "it": "e ed o oppure",
    "nl": "en of als",
    "sv": "och eller samt",
    "da": "og eller samt",
    "pl": "i lub oraz albo czy jak_i",
    "cs": "a nebo i či",
    "ro": "și sau şi cât_și",
    "hu": "és vagy",
    "fi": "ja tai sekä",
    "tr": "ve veya ya_da hem",
    "id": "dan atau maupun",
    "vi": "và hoặc hay",
    "ru": "и или либо",
    "uk": "і й та або чи",
    "el": "και ή",
    "ar": "و أو",
    "fa": "و یا",
    "he": "או",
    "hi": "और या व एवं",
    "bn": "এবং বা ও",
    "th": "และ หรือ กับ",
    "ja": "と か や または もしくは あるいは および 及び",
    "ko": "와 과 및 또는 이나 나 하고 혹은",
    "zh": "和 或 与 與 及 跟 以及 或者 还是 還是",
    "en": "and or nor and/or as_well_as",
}

OPTION = {
    "es": "opción opcion letra alternativa respuesta inciso afirmación enunciado apartado",
    "fr": "option proposition réponse lettre affirmation choix l'option",
    "de": "option antwort antwortmöglichkeit möglichkeit aussage buchstabe auswahl",
    "pt": "opção alternativa letra resposta afirmação afirmativa item assertiva itens",
    "it": "opzione risposta alternativa lettera affermazione scelta l'opzione",
    "nl": "optie antwoord stelling keuze",
    "sv": "alternativ svar svarsalternativ påstående",
    "da": "mulighed svarmulighed svar alternativ",
    "pl": "opcja opcję odpowiedź odpowiedzi wariant stwierdzenie",
    "cs": "možnost odpověď varianta tvrzení",
    "ro": "varianta opțiunea răspunsul afirmația",
    "hu": "lehetőség válasz opció",
    "fi": "vaihtoehto vastaus väite",
    "tr": "seçen- şık-",
    "id": "opsi pilihan jawaban",
    "vi": "phương_án đáp_án lựa_chọn câu",
    "ru": "вариант варианты ответ пункт утверждение",
    "uk": "варіант відповідь пункт",
    "el": "επιλογή απάντηση το η",
    "ar": "الخيار الخياران الخيارين الإجابة العبارة الاختيار والخيار الجملة",
    "fa": "گزینه گزینهٔ گزینه‌ی",
    "he": "אפשרות תשובה",
    "hi": "विकल्प कथन उत्तर",
    "bn": "বিকল্প উত্তর",
    "th": "ข้อ ตัวเลือก ทั้งข้อ",
    "ja": "選択肢 肢",
    "ko": "선택지 보기 옵션",
    "zh": "选项 選項 项 項",
    "en": "option",
}
"""Nouns for an option."""

ARTICLE = {
    "es": "la el",
    "fr": "la le",
    "de": "die",
    "pt": "a o",
    "it": "la il che",
}
"""Articles that stand right before a letter."""

BECAUSE = {
    "es": "porque ya_que pues puesto_que dado_que debido",
    "fr": "parce_que parce_qu car puisque puisqu étant_donné en_effet",
    "de": "weil denn",
    "pt": "porque pois já_que uma_vez_que visto_que",
    "it": "perché poiché in_quanto dato_che siccome",
    "nl": "omdat want aangezien",
    "sv": "eftersom därför_att",
    "da": "fordi eftersom",
    "no": "fordi ettersom",
    "pl": "ponieważ bo gdyż bowiem",
    "cs": "protože neboť jelikož",
    "ro": "pentru_că deoarece întrucât",
    "hu": "mert mivel hiszen",
    "fi": "koska sillä",
    "tr": "çünkü zira",
    "id": "karena sebab",
    "vi": "vì bởi_vì do_vì",
    "ru": "потому_что так_как поскольку ибо",
    "uk": "тому_що оскільки бо",
    "el": "επειδή γιατί διότι καθώς",
    "ar": "لأن لأنه لأنها حيث",
    "fa": "زیرا چون چرا",
    "he": "כי משום מכיוון",
    "hi": "क्योंकि चूँकि चूंकि",
    "bn": "কারণ কেননা",
    "th": "เพราะ เนื่องจาก",
    "zh": "因为 因為",
}

BUT = {
    "es": "sino pero",
    "fr": "mais",
    "de": "sondern aber",
    "pt": "mas e_sim",
    "it": "ma bensì",
    "nl": "maar",
    "sv": "utan men",
    "da": "men",
    "pl": "lecz ale tylko",
    "cs": "ale nýbrž",
    "ro": "dar",
    "hu": "hanem",
    "fi": "vaan mutta",
    "id": "melainkan tetapi tapi",
    "vi": "mà_là nhưng chứ",
    "ru": "а но",
    "uk": "а але",
    "el": "αλλά",
    "ar": "بل ولكن لكن وإنما",
    "fa": "بلکه اما",
    "he": "אלא אבל",
    "hi": "बल्कि लेकिन",
    "bn": "বরং কিন্তু",
    "th": "แต่",
    "zh": "而是 但",
}

AFTER_NOT = {
    "tr": "değil",
    "hi": "नहीं",
    "ja": "ではなく じゃなく でなく",
    "ko": "아니라 아니고",
}
"""Denials that end a clause, as what follows is the contrary."""

WEIGH = {
    "es": "analicemos analizamos veamos consideremos examinemos evaluemos primero analizando"
    " vamos_a",
    "fr": "analysons examinons considérons voyons regardons d'abord évaluons commençons",
    "de": "betrachten prüfen analysieren schauen zunächst zuerst untersuchen gehen_wir",
    "pt": "vamos analisemos analisando vejamos consideremos primeiro examinemos",
    "it": "analizziamo vediamo consideriamo esaminiamo prima iniziamo valutiamo",
    "nl": "laten_we bekijken eerst",
    "sv": "låt_oss först",
    "da": "lad_os først",
    "no": "la_oss",
    "pl": "przeanalizujmy rozważmy sprawdźmy najpierw zacznijmy przyjrzyjmy",
    "cs": "podívejme rozeberme nejprve zvažme",
    "ro": "să_analizăm să_vedem mai_întâi",
    "hu": "nézzük vizsgáljuk először",
    "fi": "tarkastellaan katsotaan ensin",
    "tr": "inceleyelim bakalım önce ele_alalım değerlendirelim",
    "id": "mari pertama kita_analisis",
    "vi": "xét hãy phân_tích trước_tiên đầu_tiên",
    "ru": "рассмотрим проанализируем сначала разберём разберем проверим",
    "uk": "розглянемо проаналізуємо спочатку",
    "el": "ας αρχικά πρώτα",
    "ar": "لنحلل دعنا لننظر أولا أولاً لنبدأ",
    "fa": "بررسی ابتدا بیایید",
    "he": "נבחן נבדוק ראשית בואו",
    "hi": "विचार_करें देखें आइए देखते पहले",
    "bn": "দেখি প্রথমে",
    "th": "พิจารณา มาดู วิเคราะห์ ก่อนอื่น",
    "ja": "検討し 見て まず 分析し 確認し",
    "ko": "살펴 검토 먼저 분석",
    "zh": "分析 看看 来看 來看 首先 考虑 考慮 先看 逐一",
}

AT_FIRST = {
    "es": "al_principio inicialmente primero",
    "fr": "au_début initialement au_départ d'abord",
    "de": "anfangs zuerst zunächst ob",
    "pt": "inicialmente a_princípio no_início primeiro",
    "it": "all'inizio inizialmente prima",
    "nl": "aanvankelijk",
    "pl": "początkowo najpierw",
    "tr": "başta ilk_başta önce",
    "id": "awalnya",
    "vi": "ban_đầu lúc_đầu",
    "ru": "поначалу вначале изначально сначала",
    "uk": "спершу",
    "ar": "في_البداية",
    "hi": "शुरू_में पहले",
    "th": "ตอนแรก",
    "ja": "最初 初め かどうか",
    "ko": "처음 여부",
    "zh": "起初 最初 一开始 一開始 是否",
    "sv": "först",
}
"""What was thought at first, or is in question: at first, whether."""

TELLS = {
    "es": "habla menciona dice afirma describe",
    "fr": "parle mentionne dit affirme décrit",
    "de": "spricht besagt sagt erwähnt beschreibt",
    "pt": "fala menciona diz afirma descreve",
    "it": "parla menziona dice afferma descrive",
    "nl": "zegt beschrijft vermeldt",
    "sv": "säger beskriver",
    "pl": "mówi opisuje wspomina",
    "tr": "bahsediyor söylüyor anlatıyor",
    "id": "membahas menyatakan menyebutkan",
    "vi": "nói_về nói_rằng mô_tả",
    "ru": "говорит описывает утверждает",
    "uk": "говорить описує",
    "ar": "يتحدث تتحدث يصف تصف",
    "hi": "कहता कहती बताता",
    "th": "กล่าวถึง กล่าวว่า พูดถึง",
    "ja": "について 述べて",
    "ko": "설명하 말하",
    "zh": "讲的是 说的是 描述 提到",
}
"""Verbs that only tell what an option says."""

WRONG = {
    "es": "incorrect- fals- erróne- equivocad- erronea inválid- inadecuad- demasiado",
    "fr": "incorrect- faux fausse fausses erroné- inexact- invalide trop",
    "de": "falsch- inkorrekt- unzutreffend- unpassend ungeeignet unwahr irrelevant",
    "pt": "incorret- errad- fals- equivocad- inadequad- demasiado",
    "it": "sbagliat- errat- fals- scorrett- incorrett- inesatt- inadeguat- troppo",
    "nl": "onjuist- fout- incorrect- onwaar verkeerd- vals",
    "sv": "fel felaktig- felaktigt osant",
    "da": "forkert- fejlagtig-",
    "no": "feil",
    "pl": "błędn- niepoprawn- nieprawidłow- fałszyw- niewłaściw- nieprawdziw- zbyt",
    "cs": "nesprávn- špatn- chybn- nepravdiv- nevhodn- příliš",
    "ro": "greșit- greşit- incorect- fals- eronat-",
    "hu": "helytelen- hibás- téves- rossz- hamis-",
    "fi": "väärin väärä- virheellinen",
    "tr": "yanlış- hatalı- geçersiz-",
    "id": "salah keliru terlalu",
    "vi": "sai",
    "ru": "неверн- неправильн- ошибочн- ложн- неточн- неподходящ- невер- некорректн- слишком",
    "uk": "неправильн- невірн- хибн- помилков- занадто",
    "el": "λάθος λανθασμέν- εσφαλμέν-",
    "ar": "خاطئ- خطأ خاطىء الخاطئ-",
    "fa": "نادرست غلط اشتباه",
    "he": "שגוי- שגויה מוטעית",
    "hi": "गलत ग़लत असत्य अनुपयुक्त",
    "bn": "ভুল",
    "th": "ผิด เกินไป",
    "ja": "異な 誤り 誤って 間違 不正解 不適 誤った 不適切 すぎ",
    "ko": "틀렸 틀린 틀립 오답 부적절 잘못 너무",
    "zh": "错 錯 误 誤 过于 過於 太绝对 太絕對 太笼统 太籠統",
}
"""Words for wrong. Before a letter they say what was asked for ("La incorrecta es la B")."""

MOST = {
    "es": "la_más el_más lo_más la_mejor",
    "fr": "la_plus le_plus la_meilleure",
    "de": "am_besten am_ehesten am_meisten",
    "pt": "a_mais o_mais a_melhor",
    "it": "la_più il_più la_migliore",
    "nl": "het_meest het_best het_beste",
    "sv": "mest bäst",
    "da": "mest bedst",
    "pl": "najbardziej najlepiej najlepsz-",
    "cs": "nejvíce nejlépe",
    "hu": "leginkább legjobban",
    "tr": "en_uygun en_doğru en_iyi",
    "id": "paling",
    "vi": "nhất",
    "ru": "наиболее лучше_всего самый",
    "uk": "найбільш найкраще",
    "el": "πιο",
    "ar": "الأنسب الأفضل الأصح الأدق",
    "hi": "सबसे सर्वोत्तम",
    "th": "ที่สุด",
    "ja": "最も 一番",
    "ko": "가장 제일",
    "zh": "最",
}

IS = {
    "es": "probablemente seguramente es está sería era es_la es_el",
    "fr": "probablement sûrement sans_doute est c'est c’est serait elle",
    "de": "wohl vermutlich wahrscheinlich sicher ganz_klar ist wäre lautet ist_die bleibt",
    "pt": "provavelmente é está seria é_a é_o",
    "it": "probabilmente sicuramente è sarebbe sia è_la è_il",
    "nl": "is",
    "sv": "är blir",
    "da": "er",
    "pl": "prawdopodobnie raczej chyba to jest będzie brzmi",
    "cs": "je to",
    "ro": "este e",
    "hu": "a az",
    "fi": "on",
    "tr": "muhtemelen büyük_ihtimalle dir dır dur tir",
    "id": "adalah ialah yaitu",
    "vi": "là có_lẽ chắc",
    "ru": "вероятно наверное видимо это есть будет",
    "uk": "це є",
    "el": "είναι",
    "ar": "هي هو وهي وهو",
    "fa": "است",
    "he": "היא הוא",
    "hi": "है हैं होगा यह",
    "bn": "হলো হল",
    "th": "คือ เป็น ครับ ค่ะ นะ",
    "ja": "おそらく たぶん 多分 恐らく です である だ でしょう だろう となります になります と"
    " なる は が を 。",
    "ko": "아마 아마도 입니다 이다 이에요 예요 됩니다 번 가 이 은 는 를 을 라고",
    "zh": "大概 也许 也許 是 为 為 就是 应该 應該 的",
}
"""What leads to a letter or follows it without saying more."""

AND_NOT = {
    "es": "y_no",
    "pt": "e_não",
    "it": "e_non",
    "fr": "et_non",
    "de": "und_nicht",
    "nl": "en_niet",
    "sv": "och_inte",
    "da": "og_ikke",
    "pl": "a_nie i_nie",
    "ru": "а_не и_не",
    "uk": "а_не і_не",
    "ar": "وليس وليست ولا",
    "he": "ולא",
    "vi": "không_phải",
    "zh": "而不是 而非 不是",
}
"""What a clause that denies another letter begins with."""

EXCEPT = {
    "es": "excepto salvo menos",
    "fr": "sauf excepté hormis",
    "de": "außer",
    "pt": "exceto salvo menos",
    "it": "tranne eccetto salvo",
    "nl": "behalve",
    "sv": "utom",
    "da": "undtagen",
    "pl": "oprócz poza z_wyjątkiem",
    "cs": "kromě",
    "ro": "în_afară_de",
    "hu": "kivéve",
    "fi": "paitsi",
    "tr": "dışında hariç",
    "id": "kecuali",
    "vi": "ngoại_trừ trừ",
    "ru": "кроме",
    "uk": "крім окрім",
    "el": "εκτός",
    "ar": "ما_عدا إلا باستثناء",
    "fa": "به_جز",
    "he": "חוץ_מ- מלבד",
    "hi": "के_अलावा को_छोड़कर",
    "bn": "ছাড়া",
    "th": "ยกเว้น",
    "ja": "以外",
    "ko": "제외 빼고",
    "zh": "除了",
    "en": "except but",
}
"""Words for but, as in "all are wrong but B"."""

ORDINAL = {
    "es": "primera segunda tercera cuarta quinta",
    "fr": "première deuxième troisième quatrième cinquième",
    "de": "erste- zweite- dritte- vierte- fünfte-",
    "pt": "primeira segunda terceira quarta quinta",
    "it": "prima seconda terza quarta quinta",
    "nl": "eerste tweede derde vierde vijfde",
    "pl": "pierwsz- drug- trzeci- czwart- piąt-",
    "tr": "birinci ikinci üçüncü dördüncü beşinci",
    "id": "pertama kedua ketiga keempat kelima",
    "vi": "thứ_nhất thứ_hai thứ_ba thứ_tư thứ_năm",
    "ru": "перв- втор- трет- четвёрт- пят-",
    "uk": "перш- друг- трет- четверт- п'ят-",
    "ar": "الأول- الثاني- الثالث- الرابع- الخامس-",
    "hi": "पहल- दूसर- तीसर- चौथ- पाँचव-",
    "th": "แรก ที่สอง ที่สาม ที่สี่ ที่ห้า",
    "ja": "一番目 二番目 三番目 四番目 五番目",
    "ko": "첫_번째 두_번째 세_번째 네_번째 다섯_번째",
    "zh": "第一 第二 第三 第四 第五",
    "en": "first second third fourth fifth",
}
"""The first to the fifth, as options are called."""

CHOICE = {
    "es": "opción opcion respuesta alternativa",
    "fr": "option réponse proposition",
    "de": "option antwort antwortmöglichkeit möglichkeit",
    "pt": "opção alternativa resposta",
    "it": "opzione risposta alternativa",
    "nl": "optie antwoord",
    "pl": "opcj- odpowied-",
    "tr": "seçen- şık-",
    "id": "opsi pilihan jawaban",
    "vi": "phương_án đáp_án lựa_chọn",
    "ru": "вариант- ответ-",
    "uk": "варіант- відповід-",
    "ar": "الخيار الإجابة الاختيار",
    "hi": "विकल्प उत्तर",
    "th": "ข้อ ตัวเลือก",
    "ja": "選択肢 の選択肢",
    "ko": "선택지 보기 답",
    "zh": "选项 選項 个选项 個選項 项 項",
    "en": "option choice answer alternative",
}
"""Nouns for one option of several; not for statements, which questions may number as well."""
